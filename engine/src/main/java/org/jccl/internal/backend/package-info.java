/**
 * The bindings that are present: which of them a group uses, and which drives a type of device.
 * Uses the SPI only. The runtimes are in one concurrent map of the process, as the vendor libraries
 * are. No other lock.
 */
package org.jccl.internal.backend;
