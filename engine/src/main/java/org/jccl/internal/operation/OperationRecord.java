package org.jccl.internal.operation;

import java.util.Optional;
import org.jccl.DataType;
import org.jccl.FailureContext;
import org.jccl.GroupInfo;
import org.jccl.JcclException;
import org.jccl.ReduceOp;
import org.jccl.spi.OperationKind;

/**
 * What observers see of one operation, whose own object is reused. Created only if there is an
 * observer. Filled in by the thread that starts the operation, and again by the one that ends it.
 */
public final class OperationRecord {

    private static final long UNKNOWN = -1;

    private final GroupInfo group;
    private final Operation described = new Operation();
    private final long sequence;
    private final long bytes;
    private final Thread thread = Thread.currentThread();
    private final long startNanos = System.nanoTime();

    /** Bits of the observers that were notified of a stall; used by the watchdog only. */
    private int stallsReported;

    /** Bits of the listeners that did not see its start. */
    private int missed;

    /** An object of one observer, from the start to the end. */
    private Object attachment;

    private JcclException failure;
    private long deviceNanos = UNKNOWN;

    /** 0 while it runs. Written last. */
    private volatile long endNanos;

    OperationRecord(GroupInfo group, Operation operation) {
        this.group = group;
        this.described.describeAs(operation);
        this.sequence = operation.sequence;
        this.bytes = operation.bytes(group.size());
    }

    /** Records the time of the device, before the end. */
    void measured(long nanos) {
        deviceNanos = nanos;
    }

    void end(JcclException cause) {
        failure = cause;
        long now = System.nanoTime();
        endNanos = now == 0 ? 1 : now;
    }

    boolean reportStall(int observer) {
        int before = stallsReported;
        stallsReported |= 1 << observer;
        return stallsReported != before;
    }

    /** Records that a listener did not see its start, so that its end is not reported either. */
    public void miss(int listener) {
        missed |= 1 << listener;
    }

    public boolean isMissed(int listener) {
        return (missed & 1 << listener) != 0;
    }

    public void attach(Object value) {
        attachment = value;
    }

    public Object attachment() {
        return attachment;
    }

    public GroupInfo group() {
        return group;
    }

    public OperationKind kind() {
        return described.kind;
    }

    /** Returns the name of the method. */
    public String name() {
        return described.kind == OperationKind.ALL_TO_ALL_V
                ? OperationKind.ALL_TO_ALL.toString()
                : described.kind.toString();
    }

    /** Returns the operation with its arguments. */
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

    /** Returns the element type, or null for a barrier. */
    public DataType type() {
        return described.type;
    }

    /** Returns the reduction, or null. */
    public ReduceOp op() {
        return described.op;
    }

    /** Returns the root or other side, or -1. */
    public int peer() {
        return described.peer;
    }

    /** Returns the thread that passed it to the library. */
    public Thread thread() {
        return thread;
    }

    public long startNanos() {
        return startNanos;
    }

    public boolean hasEnded() {
        return endNanos != 0;
    }

    /** Returns when it ended. Call it only if {@link #hasEnded}. */
    public long endNanos() {
        return endNanos;
    }

    /** Returns why it failed, or null. */
    public JcclException failure() {
        return failure;
    }

    /** Returns the time that the device measured. */
    public Optional<Long> deviceNanos() {
        return deviceNanos == UNKNOWN ? Optional.empty() : Optional.of(deviceNanos);
    }

    /** Returns the context of a failure. */
    public FailureContext context() {
        return new FailureContext(group.name(), group.rank(), text(), sequence);
    }
}
