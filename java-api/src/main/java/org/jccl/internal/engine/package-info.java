/**
 * What both kinds of engine share: failing a group as one, deadlines, closing, futures, and the
 * watchdog's thread. Uses operations and diagnosis. Locks in their order: the engine's end (around
 * abort and the library's own errors), then the monitor of the running operations.
 */
package org.jccl.internal.engine;
