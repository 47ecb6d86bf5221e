package org.jccl.internal.observe;

import java.util.concurrent.TimeUnit;
import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import jdk.jfr.Timespan;
import org.jccl.GroupInfo;
import org.jccl.JcclException;
import org.jccl.internal.operation.OperationObserver;
import org.jccl.internal.operation.OperationRecord;

/**
 * Writes events to JFR, which may be enabled and disabled at any time. Until JFR is first enabled
 * in this JVM, no event class is used, because the first one loads a hundred classes and takes a
 * tenth of a second. While JFR is disabled, {@code isEnabled} of an event is a method that returns
 * false, which the compiler removes. Only used if the module {@code jdk.jfr} is present.
 */
final class JfrObserver implements OperationObserver {

    private static final long STALL_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** Shown as "N/A". */
    private static final long UNKNOWN = Long.MIN_VALUE;

    private final GroupInfo group;

    JfrObserver(GroupInfo group) {
        this.group = group;
    }

    @Override
    public boolean isOn() {
        return wasOn() && Events.areOn();
    }

    @Override
    public long stallNanos() {
        return STALL_NANOS;
    }

    private static boolean wasOn() {
        return jdk.jfr.FlightRecorder.isInitialized();
    }

    /** Loaded when JFR is enabled for the first time. */
    private static final class Events {

        private static final CollectiveEvent COLLECTIVE = new CollectiveEvent();
        private static final MessageEvent MESSAGE = new MessageEvent();
        private static final StallEvent STALL = new StallEvent();

        static boolean areOn() {
            return COLLECTIVE.isEnabled() || MESSAGE.isEnabled() || STALL.isEnabled();
        }
    }

    @Override
    public void started(OperationRecord operation) {
        if (!wasOn()) {
            return;
        }
        OperationEvent event =
                operation.isCollective() ? new CollectiveEvent() : new MessageEvent();
        if (event.isEnabled()) {
            event.begin();
            operation.attach(event);
        }
    }

    @Override
    public void ended(OperationRecord operation) {
        if (operation.attachment() instanceof OperationEvent event) {
            event.end();
            if (event.shouldCommit()) {
                fill(event, operation);
                event.commit();
            }
        }
    }

    private void fill(GroupEvent event) {
        event.group = group.name();
        event.rank = group.rank();
        event.backend = group.backend();
    }

    private void fill(OperationEvent event, OperationRecord operation) {
        fill(event);
        event.operation = operation.name();
        event.sequence = operation.sequence();
        event.dataType = operation.type() == null ? null : operation.type().toString();
        event.bytes = operation.bytes();
        event.deviceTime = operation.deviceNanos().orElse(UNKNOWN);
        event.issuer = operation.thread();
        event.failure = operation.failure() == null ? null : operation.failure().getMessage();
        if (event instanceof CollectiveEvent collective) {
            collective.root = operation.peer();
        } else if (event instanceof MessageEvent message) {
            message.peer = operation.peer();
        }
    }

    @Override
    public void stalled(OperationRecord operation, long nanos) {
        if (!wasOn()) {
            return;
        }
        StallEvent event = new StallEvent();
        if (event.shouldCommit()) {
            fill(event);
            event.operation = operation.text();
            event.sequence = operation.sequence();
            event.soFar = nanos;
            event.commit();
        }
    }

    @Override
    public void groupMade(long nanos) {
        if (!wasOn()) {
            return;
        }
        GroupCreationEvent event = new GroupCreationEvent();
        if (event.shouldCommit()) {
            event.group = group.name();
            event.rank = group.rank();
            event.size = group.size();
            event.worldRank = group.worldRank();
            event.backend = group.backend();
            event.device = group.device().toString();
            event.took = nanos;
            event.commit();
        }
    }

    @Override
    public void groupFailed(JcclException cause) {
        if (!wasOn()) {
            return;
        }
        GroupFailureEvent event = new GroupFailureEvent();
        if (event.shouldCommit()) {
            fill(event);
            event.kind = cause.getClass().getName();
            event.reason = cause.getMessage();
            event.commit();
        }
    }

    /** What all events have in common. */
    abstract static class GroupEvent extends Event {

        @Label("Group")
        String group;

        @Label("Rank")
        @Description("Rank in the group")
        int rank;

        @Label("Backend")
        String backend;
    }

    /** What collectives and messages have in common in a JFR recording. */
    abstract static class OperationEvent extends GroupEvent {

        @Label("Operation")
        String operation;

        @Label("Sequence")
        @Description(
                "Position among the group's collectives, or among the sends and receives with one"
                        + " peer and tag")
        long sequence;

        @Label("Data Type")
        String dataType;

        @Label("Bytes")
        @Description("Size of this rank's tensor, the larger one of input and output")
        @DataAmount
        long bytes;

        @Label("Device Time")
        @Description("Time between the device's events before and after the operation, if known")
        @Timespan
        long deviceTime;

        @Label("Issuing Thread")
        Thread issuer;

        @Label("Failure")
        @Description("Why it failed; absent if it completed")
        String failure;
    }

    /** A collective, from handing it to the library until this rank noticed its end. */
    @Name("org.jccl.Collective")
    @Label("Collective")
    @Category("JCCL")
    @Description(
            "A collective, from handing it to the library until this rank noticed its end,"
                    + " including the wait for other ranks")
    @StackTrace(false)
    static final class CollectiveEvent extends OperationEvent {

        @Label("Root")
        @Description("Root's rank in the group, -1 if there is no root")
        int root;
    }

    /** A send or receive, from handing it to the library until this rank noticed its end. */
    @Name("org.jccl.Message")
    @Label("Message")
    @Category("JCCL")
    @Description(
            "A send or receive, from handing it to the library until this rank noticed its end")
    @StackTrace(false)
    static final class MessageEvent extends OperationEvent {

        @Label("Peer")
        @Description("Peer's rank in the group, -1 for a receive from any peer")
        int peer;
    }

    /** An operation runs for a long time, and may still complete. */
    @Name("org.jccl.Stall")
    @Label("Stall")
    @Category("JCCL")
    @Description(
            "An operation has run for longer than a second; reported once for each, while it runs")
    @StackTrace(false)
    static final class StallEvent extends GroupEvent {

        @Label("Operation")
        @Description("The operation with its arguments")
        String operation;

        @Label("Sequence")
        @Description(
                "Position among the group's collectives, or among the sends and receives with one"
                        + " peer and tag")
        long sequence;

        @Label("So Far")
        @Description("How long it has run")
        @Timespan
        long soFar;
    }

    /** A group was made on one backend. */
    @Name("org.jccl.GroupCreation")
    @Label("Group Creation")
    @Category("JCCL")
    @Description("A process group was made on one backend")
    @StackTrace(false)
    static final class GroupCreationEvent extends GroupEvent {

        @Label("Size")
        @Description("Number of ranks")
        int size;

        @Label("World Rank")
        int worldRank;

        @Label("Device")
        String device;

        @Label("Took")
        @Description("Time to form the group, including the arrival of all ranks")
        @Timespan
        long took;
    }

    /** A group failed or was aborted. */
    @Name("org.jccl.GroupFailure")
    @Label("Group Failure")
    @Category("JCCL")
    @Description("A process group failed or was aborted; with the thread that noticed it")
    static final class GroupFailureEvent extends GroupEvent {

        @Label("Kind")
        @Description("Class of the exception")
        String kind;

        @Label("Reason")
        @Description("The first failure, in words")
        String reason;
    }
}
