package org.jccl.internal.device.failures;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.JcclException;
import org.jccl.Stream;
import org.jccl.internal.engine.GroupFailure;

/**
 * Where the operations of one group are in the happens-before order of all groups: a group whose
 * operations wait for those of a failed group fails as well. Safe for use by several threads.
 */
public final class GroupOrder {

    private final StreamClocks clocks;
    private final StreamGroup group;
    private final FailureContext context;
    private final GroupFailure failure;

    /** Operations of other groups that happen before this group's; guarded by the clocks. */
    private final VectorClock before = new VectorClock();

    public GroupOrder(
            Device device, StreamGroup group, FailureContext context, GroupFailure failure) {
        this.clocks = StreamClocks.of(device);
        this.group = group;
        this.context = context;
        this.failure = failure;
    }

    /** Other groups see this one from now on, until {@link #close}. */
    public void open() {
        clocks.add(this);
    }

    public void close() {
        clocks.remove(this);
    }

    /**
     * Notes what happens before an operation that is about to be issued in the order of a stream.
     *
     * @throws GroupAbortedException if there is a failure that was not reported to the program: the
     *     operation would spread undefined tensor contents
     */
    public void issue(long stream) {
        synchronized (clocks) {
            JcclException unreported = clocks.report(stream, false);
            if (unreported != null) {
                throw new GroupAbortedException(
                        unreported.context(),
                        unreported.reason()
                                + "; a call on "
                                + context
                                + " was not issued, because its stream continues with undefined"
                                + " tensor contents. Close the group that failed, fill the tensors"
                                + " again and repeat the call",
                        unreported);
            }
            clocks.mergeUnreported(stream, before, failure);
        }
    }

    /** The failure of this group was reported to the program where a stream is current. */
    public void reported(long stream) {
        clocks.reported(stream, failure);
    }

    /** The clocks of the device's streams. */
    public StreamClocks clocks() {
        return clocks;
    }

    /** Fails this group if an operation failed that happens before the group's operations. */
    public void checkStreams() {
        group.checkStreams();
        for (GroupOrder other : allBefore()) {
            other.group.checkStreams();
            if (other.failure.isSet()) {
                // The thread that noticed it may not have failed this group yet.
                failAfter(other.failure.get());
            }
        }
    }

    /** Fails the groups whose operations wait for this group's, which is about to be aborted. */
    public void failLaterGroups(JcclException cause) {
        List<GroupOrder> waiting = new ArrayList<>();
        for (StreamClocks each : StreamClocks.all()) {
            synchronized (each) {
                each.groups().stream()
                        .filter(other -> other.failure != failure)
                        .filter(other -> other.before.has(failure))
                        .forEach(waiting::add);
            }
        }
        waiting.forEach(other -> other.failAfter(cause));
    }

    private void failAfter(JcclException cause) {
        group.fail(
                new GroupAbortedException(
                        context,
                        "operations were issued after those of a group that failed ("
                                + cause.getMessage()
                                + ")",
                        cause));
    }

    /**
     * Whether operations of this group are in a clock. The caller has the monitor of the clocks.
     */
    boolean isIn(VectorClock clock) {
        return clock.has(failure);
    }

    /** Merges what happens before operations of this group. The caller has the same monitor. */
    void mergeBefore(VectorClock into) {
        into.merge(before);
    }

    void beforeClose(Stream stream) {
        group.beforeClose(stream);
    }

    /** The transitive closure of {@link #directlyBefore}. */
    private Collection<GroupOrder> allBefore() {
        List<GroupOrder> next = directlyBefore();
        if (next.isEmpty()) {
            return next;
        }
        Set<GroupOrder> found = new HashSet<>();
        while (!next.isEmpty()) {
            GroupOrder other = next.remove(next.size() - 1);
            if (other != this && found.add(other)) {
                next.addAll(other.directlyBefore());
            }
        }
        return found;
    }

    private List<GroupOrder> directlyBefore() {
        VectorClock clock;
        synchronized (clocks) {
            before.removeEnded();
            if (before.isEmpty()) {
                return Collections.emptyList(); // whose iterator is no garbage
            }
            clock = before.copy();
        }
        List<GroupOrder> groups = new ArrayList<>();
        for (StreamClocks each : StreamClocks.all()) {
            synchronized (each) {
                each.groups().stream()
                        .filter(other -> clock.has(other.failure))
                        .forEach(groups::add);
            }
        }
        return groups;
    }
}
