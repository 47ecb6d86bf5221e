/**
 * Failure tracking on streams: a thread that waits through this API never takes the contents that a
 * failed operation has left for a result.
 *
 * <h2>The rule</h2>
 *
 * <p>Operation <i>a</i> <i>happens before</i> a point <i>p</i> on a stream if one of these holds:
 *
 * <ul>
 *   <li><i>a</i> was enqueued on that stream before <i>p</i>;
 *   <li>the stream waits, before <i>p</i>, for an event that was recorded behind <i>a</i>, or for
 *       the work of <i>a</i>;
 *   <li>the device orders the stream with the default stream, and <i>a</i> is on the other one;
 *   <li><i>a</i> is part of a captured graph, which any stream may launch;
 *   <li><i>a</i> happens before an operation that happens before <i>p</i>.
 * </ul>
 *
 * <p>A wait for <i>p</i> returns normally only if every operation that happens before <i>p</i> has
 * succeeded. Otherwise it throws the failure of the group. An operation that is issued at <i>p</i>
 * is refused if a failure that happens before <i>p</i> was not reported to the program yet. If a
 * group fails, so do all groups with operations that wait for its operations.
 *
 * <h2>The clocks</h2>
 *
 * <p>The relation is tracked with vector clocks. A component is a {@link
 * org.jccl.internal.device.failures.Timeline}: the operations of one group on one stream, numbered
 * in the order in which they end. A {@link org.jccl.internal.device.failures.VectorClock} has the
 * newest number of each timeline. {@link org.jccl.internal.device.failures.StreamClocks} has the
 * clock of each stream of a device. Issuing an operation adds a number to the clock of its stream.
 * Recording an event copies the clock of the stream into an {@link
 * org.jccl.internal.device.failures.EventClock}, and waiting for the event merges it: each
 * component becomes the maximum of both. {@link org.jccl.internal.device.failures.GroupOrder} has
 * the clock of a group: the operations of other groups that happen before its own.
 *
 * <p>Operations that are known to have succeeded are removed from a clock, so clocks are short. A
 * stream with an empty clock costs nothing and throws nothing.
 *
 * <h2>Failure and success</h2>
 *
 * <p>A thread that waits sees the end first, then asks the libraries for asynchronous errors, and
 * then looks for a failure. An engine sets its failure first and aborts its operations then. So an
 * operation that has ended while its group has no failure has succeeded.
 *
 * <p>A failure is reported at every wait until the group is closed or replaced, and at least once.
 * After that the program knows it, and may use the stream for something new.
 *
 * <p>Uses engine. Locks in their order: the clocks of a device, or of an event; a timeline.
 * Libraries and devices are not called under these locks.
 */
package org.jccl.internal.device.failures;
