/**
 * Who sees operations: the flight recorder, JFR, listeners and the monitor's file. Uses operations.
 * Each observer has a lock of its own at most, taken inside the monitor of the running operations
 * and held for a few instructions; listeners are called without any.
 */
package org.jccl.internal.observe;
