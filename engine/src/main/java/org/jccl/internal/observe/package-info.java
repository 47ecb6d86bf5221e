/**
 * The observers of operations: flight recorder, JFR, listeners, and the file of the monitor. Uses
 * operations. Each observer has at most one lock of its own. It is taken inside the monitor of the
 * running operations and held for a few instructions. Listeners are called without any lock.
 *
 * <p>{@link org.jccl.internal.operation.RunningOperations} calls the observers, on the threads that
 * issue and complete operations, so observers do not block: the recorder and JFR write to memory (a
 * thread of its own writes the recorder's file, for which only the end of the group or process
 * waits), and a listener's observer queues a call for the world's {@link
 * org.jccl.internal.observe.ListenerThread}. An {@link org.jccl.internal.operation.OperationRecord}
 * is created only if an observer is on, since the operations themselves are reused. Until a JFR
 * recording starts, JFR's observer answers with a constant.
 *
 * <p>If {@code JCCL_MONITOR_DIR} names a folder, {@link org.jccl.internal.observe.Monitor} writes a
 * file there once a second, under a temporary name that it then renames. {@code jccl top} reads
 * these files only, so it also shows a job that is stuck or has no store. On devices, an observed
 * operation is between two events that measure time. The module {@code jdk.jfr} is optional: only
 * {@link org.jccl.internal.observe.JfrObserver} names it, and it is loaded only if the module is
 * present.
 */
package org.jccl.internal.observe;
