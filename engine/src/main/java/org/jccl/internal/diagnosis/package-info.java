/**
 * Why something is stuck: a thread with a store connection of its own, and the comparison of ranks
 * through the store. Uses operations, as descriptions. The lock of {@link
 * org.jccl.internal.diagnosis.DesyncDetector} is held while the store is asked, on the diagnosis
 * thread; nobody else waits for it longer than a second.
 *
 * <p>The first stuck rank writes its operation to the store under the operation's number. The
 * others compare, also with the 32 collectives before it ({@link
 * org.jccl.internal.operation.RecentCollectives}), and throw a {@link org.jccl.MismatchException}
 * that names both sides. If the library itself notices a mismatch, the rank compares at once. Of
 * messages, only those in which both sides are stuck are compared. If a library completes an
 * operation with wrong data, nothing is noticed.
 *
 * <p>A rank whose group fails writes the failure. Ranks that wait for it, or lose the connection to
 * it, report it as their cause. They wait for that text: up to three seconds after a lost peer or a
 * mismatch, one second after a timeout. {@code abort()} and {@code close()} wait one second until a
 * failure is written; {@code isCompleted()} never waits. A store that did not answer is asked again
 * after ten seconds.
 *
 * <p>A rank that closes a group normally writes so first, with the number of its collectives
 * ({@link org.jccl.internal.diagnosis.Departures}). A rank that has issued more, and is stuck or
 * lost that peer, fails with a {@link org.jccl.PeerLeftException}. If any group of its world failed
 * in its process, the rank does not write it, so a failed rank is never reported as one that left.
 */
package org.jccl.internal.diagnosis;
