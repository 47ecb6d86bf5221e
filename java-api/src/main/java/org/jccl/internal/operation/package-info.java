/**
 * One checked call ({@link org.jccl.internal.operation.Operation}), those in flight, their numbers,
 * what observers see of them, and the bounce buffer for parts that lie apart. Uses memory. One
 * lock, the monitor of {@link org.jccl.internal.operation.RunningOperations}, held for a few
 * instructions: whoever has it calls neither a library nor a device nor the store.
 */
package org.jccl.internal.operation;
