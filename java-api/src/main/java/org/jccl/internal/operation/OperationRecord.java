package org.jccl.internal.operation;

import java.util.Optional;
import org.jccl.DataType;
import org.jccl.FailureContext;
import org.jccl.GroupInfo;
import org.jccl.JcclException;
import org.jccl.ReduceOp;
import org.jccl.spi.OperationKind;

/**
 * What observers see of one operation, whose own object is reused. Made where somebody observes,
 * and only there. Filled in by the thread that starts it, and once more by the one that ends it.
 */
public final class OperationRecord {

    private static final long UNKNOWN = -1;

    private final GroupInfo group;
    private final Operation described = new Operation();
    private final long sequence;
    private final long bytes;
    private final Thread thread = Thread.currentThread();
    private final long startNanos = System.nanoTime();

    /** Bits of the observers that know that it stalls; the watchdog's own. */
    private int stallTold;

    /** Bits of the listeners that were not told of its start. */
    private int missed;

    /** What an observer keeps with it from its start to its end: the one that asked for it. */
    private Object kept;

    private JcclException failure;
    private long deviceNanos = UNKNOWN;

    /** 0 while it runs; written last. */
    private volatile long endNanos;

    OperationRecord(GroupInfo group, Operation operation) {
        this.group = group;
        this.described.describeAs(operation);
        this.sequence = operation.sequence;
        this.bytes = operation.bytes(group.size());
    }

    /** Notes the device's own time, before the end. */
    void measured(long nanos) {
        deviceNanos = nanos;
    }

    void end(JcclException cause) {
        failure = cause;
        long now = System.nanoTime();
        endNanos = now == 0 ? 1 : now;
    }

    boolean reportStall(int observer) {
        int before = stallTold;
        stallTold |= 1 << observer;
        return stallTold != before;
    }

    /** Notes that a listener was not told of its start, so that its end is not told either. */
    public void miss(int listener) {
        missed |= 1 << listener;
    }

    public boolean isMissed(int listener) {
        return (missed & 1 << listener) != 0;
    }

    public void keep(Object value) {
        kept = value;
    }

    public Object kept() {
        return kept;
    }

    public GroupInfo group() {
        return group;
    }

    public OperationKind kind() {
        return described.kind;
    }

    /** The method's name. */
    public String name() {
        return described.kind == OperationKind.ALL_TO_ALL_V
                ? OperationKind.ALL_TO_ALL.toString()
                : described.kind.toString();
    }

    /** The operation with its arguments. */
    public String text() {
        return described.describe();
    }

    public boolean isCollective() {
        return described.kind.isCollective();
    }

    public long sequence() {
        return sequence;
    }

    public long bytes() {
        return bytes;
    }

    /** Null for a barrier. */
    public DataType type() {
        return described.type;
    }

    /** Null where nothing is reduced. */
    public ReduceOp op() {
        return described.op;
    }

    /** Root or other side, or -1. */
    public int peer() {
        return described.peer;
    }

    /** The thread that handed it to the library. */
    public Thread thread() {
        return thread;
    }

    public long startNanos() {
        return startNanos;
    }

    public boolean hasEnded() {
        return endNanos != 0;
    }

    /** When it ended; it has. */
    public long endNanos() {
        return endNanos;
    }

    /** Why it failed, or null. */
    public JcclException failure() {
        return failure;
    }

    /** What the device measured. */
    public Optional<Long> deviceNanos() {
        return deviceNanos == UNKNOWN ? Optional.empty() : Optional.of(deviceNanos);
    }

    /** Where it is. */
    public FailureContext context() {
        return new FailureContext(group.name(), group.rank(), text(), sequence);
    }
}
