/**
 * Process groups inside: one engine for each kind of device, sub-groups, and what the members of a
 * world agree on through the store. Uses both engines. One monitor around the counters of groups
 * made, under which nothing is called.
 *
 * <p>A name contains the ranks of the group, and members count equal groups alike, so names need no
 * agreement. Each group has its own part of the store, with one part for each backend. {@link
 * org.jccl.internal.group.SplitAgreement} exchanges the colors of a split. All ranks take part in
 * it, so a library that divides communicators is used ({@code Communicator.split}, {@code
 * declineSplit}).
 *
 * <p>A store may outlive a world, so each world has a part of its own, {@code
 * worlds/<size>/<number>}, which {@link org.jccl.internal.group.WorldAgreement} finds. A store that
 * rank 0 serves is for one world: a rank that returns before rank 0 has closed it connects again.
 *
 * <p>{@link org.jccl.internal.group.GroupKeys} is the hook for worlds that contain ranks of another
 * API.
 */
package org.jccl.internal.group;
