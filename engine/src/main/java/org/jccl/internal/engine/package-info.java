/**
 * What both kinds of engine share: failing a group as one, deadlines, closing, futures, and the
 * watchdog's thread. Uses operations and diagnosis. Locks in their order: the engine's end (around
 * abort and the library's own errors), then the monitor of the running operations.
 *
 * <p>One watchdog thread serves a world and all groups made from it. Ten times a second it fails
 * groups with an operation over its deadline, asks libraries for errors, completes works that
 * nobody awaits so that their memory is released, and hands operations older than half a second to
 * the diagnosis: the 16 oldest collectives, and at most 64 new ones at a time. It never calls the
 * store. {@link org.jccl.internal.engine.FutureThread} exists while works of a group have futures,
 * and looks ten thousand times a second.
 *
 * <p>Operations, and threads inside the library with another call ({@code Engine.inside}), begin
 * under the monitor under which closing begins. So {@code close()} waits for all of them, or
 * aborts, and frees the communicator only when none is left.
 *
 * <p>The first failure is kept ({@link org.jccl.internal.engine.GroupFailure}), the communicator is
 * aborted, and what runs or comes later fails with that cause. A library that cannot take an
 * operation back may still use its memory ({@code Communicator.abandonsOperations}); that memory is
 * then retained until the process ends.
 */
package org.jccl.internal.engine;
