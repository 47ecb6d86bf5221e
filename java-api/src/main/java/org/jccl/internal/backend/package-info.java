/**
 * The bindings that are present: which a group uses, and which drives a kind of device. Uses the
 * SPI only. The runtimes found are kept in one concurrent map for the process, as the vendor
 * libraries behind them are; no other lock.
 */
package org.jccl.internal.backend;
