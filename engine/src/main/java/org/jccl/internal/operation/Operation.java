package org.jccl.internal.operation;

import java.util.Arrays;
import java.util.function.Consumer;
import org.jccl.DataType;
import org.jccl.Event;
import org.jccl.FailureContext;
import org.jccl.ReduceOp;
import org.jccl.Work;
import org.jccl.internal.memory.Memory;
import org.jccl.spi.Communicator;
import org.jccl.spi.HostCommunicator;
import org.jccl.spi.OperationKind;
import org.jccl.spi.StreamCommunicator;

/**
 * One checked operation: what to call, with primitive arguments. The public API fills it in, an
 * engine runs it. Mutable, because synchronous calls reuse objects.
 */
public class Operation {

    /** What runs it. */
    public Runner runner;

    /** What to call. */
    public OperationKind kind;

    /** Address of the input. */
    public long input;

    /** Address of the output. */
    public long output;

    /** Elements, per rank where the operation has parts. */
    public long count;

    /** Element type, null for a barrier. */
    public DataType type;

    /** Reduce op, null when nothing is reduced. */
    public ReduceOp op;

    /** Root, or peer of send and recv, or -1. */
    public int peer = -1;

    /** Tag of send and recv. */
    public int tag;

    /** Elements for each rank, null when they are equal. */
    public long[] inputCounts;

    /** Elements from each rank, null when they are equal. */
    public long[] outputCounts;

    /** Addresses of scattered input parts to be staged, or null. */
    public long[] inputParts;

    /** Addresses of scattered output parts to be staged, or null. */
    public long[] outputParts;

    /** Recorded on the current stream of the caller when it was issued, or null if not needed. */
    public Event callerEvent;

    private Memory first;
    private Memory second;
    private Memory[] more;
    private int moreCount;

    /** Whether the caller waits for its end. */
    public boolean awaited;

    /** Whether it was found equal to the calls of the other ranks. */
    public boolean compared;

    /** How long it may take, or 0 for the timeout of the group. */
    public long timeoutNanos;

    /** When it started, in nanoseconds of {@link System#nanoTime()}. */
    public long startNanos;

    /** Index in the list of running operations. */
    int runningIndex;

    /**
     * Position among the collectives of the group, or among the sends and receives with one peer
     * and tag.
     */
    public long sequence = -1;

    /** The record for observers, or null if there are none. */
    OperationRecord observed;

    /** An event of the device right before it, if its time is measured, or 0. */
    public long startEvent;

    /** For subclasses and pools. */
    public Operation() {}

    /** Resets all fields. */
    public final void clear() {
        runner = null;
        kind = null;
        input = 0;
        output = 0;
        count = 0;
        type = null;
        op = null;
        peer = -1;
        tag = 0;
        inputCounts = null;
        outputCounts = null;
        inputParts = null;
        outputParts = null;
        callerEvent = null;
        sequence = -1;
        observed = null;
        startEvent = 0;
        awaited = false;
        compared = false;
        timeoutNanos = 0;
    }

    /** Runs it if it is pooled; see {@link Runner#run}. */
    public final int run() {
        return runner.run(this);
    }

    /** Issues it if it is not pooled; see {@link Runner#submit}. */
    public final Work submit() {
        return runner.submit(this);
    }

    /** Returns how long it may take in a group with a timeout. */
    public final long timeoutNanos(long ofGroup) {
        return timeoutNanos == 0 ? ofGroup : timeoutNanos;
    }

    /**
     * Returns whether it must end before the group closes. A message that is not awaited may have
     * no partner.
     */
    public final boolean mustEnd() {
        return awaited || kind.isCollective();
    }

    /** Copies the fields that {@link #describe} uses. */
    public final void describeAs(Operation other) {
        kind = other.kind;
        count = other.count;
        type = other.type;
        op = other.op;
        peer = other.peer;
        tag = other.tag;
        inputCounts = other.inputCounts;
        outputCounts = other.outputCounts;
    }

    /** Copies the fields that {@link #describe} and {@link #collides} use. */
    public final void placeAs(Operation other) {
        describeAs(other);
        input = other.input;
        output = other.output;
        inputParts = other.inputParts;
        outputParts = other.outputParts;
    }

    /** Moves all fields to an empty operation, which then retains the memory. */
    public final void moveTo(Operation other) {
        other.placeAs(this);
        other.callerEvent = callerEvent;
        other.compared = compared;
        other.timeoutNanos = timeoutNanos;
        other.first = first;
        other.second = second;
        other.more = more;
        other.moreCount = moreCount;
        first = null;
        second = null;
        more = null;
        moreCount = 0;
    }

    /**
     * Retains memory until the operation is complete.
     *
     * @return false if the memory is closed
     */
    public final boolean hold(Memory memory) {
        if (!memory.acquire()) {
            return false;
        }
        if (first == null) {
            first = memory;
        } else if (second == null) {
            second = memory;
        } else {
            if (more == null || moreCount == more.length) {
                more = more == null ? new Memory[8] : Arrays.copyOf(more, 2 * moreCount);
            }
            more[moreCount++] = memory;
        }
        return true;
    }

    /** Releases all memory. Called once native code no longer uses it. */
    public final void releaseMemory() {
        endHolds(Memory::release);
    }

    /** Retains all memory until the process ends, because native code may still use it. */
    public final void retainMemory() {
        endHolds(Memory::retain);
    }

    /** Hands all memory to another owner. */
    final void moveHolds(Consumer<Memory> to) {
        endHolds(to);
    }

    private void endHolds(Consumer<Memory> end) {
        if (first != null) {
            end.accept(first);
            first = null;
        }
        if (second != null) {
            end.accept(second);
            second = null;
        }
        while (moreCount > 0) {
            end.accept(more[--moreCount]);
            more[moreCount] = null;
        }
    }

    /**
     * Calls a library that works on the host.
     *
     * @param communicator of the engine
     * @return the request of a message, or {@link HostCommunicator#COMPLETE}
     */
    public final long call(HostCommunicator communicator) {
        switch (kind) {
            case BROADCAST -> communicator.broadcast(output, count, type, peer);
            case ALL_REDUCE -> communicator.allReduce(input, output, count, type, op);
            case REDUCE -> communicator.reduce(input, output, count, type, op, peer);
            case ALL_GATHER -> communicator.allGather(input, output, count, type);
            case ALL_GATHER_V -> communicator.allGatherV(input, output, outputCounts, type);
            case GATHER -> communicator.gather(input, output, count, type, peer);
            case SCATTER -> communicator.scatter(input, output, count, type, peer);
            case REDUCE_SCATTER -> communicator.reduceScatter(input, output, count, type, op);
            case REDUCE_SCATTER_V ->
                    communicator.reduceScatterV(input, output, inputCounts, type, op);
            case ALL_TO_ALL -> communicator.allToAll(input, output, count, type);
            case ALL_TO_ALL_V ->
                    communicator.allToAllV(input, output, inputCounts, outputCounts, type);
            case SEND -> {
                return communicator.send(input, count, type, peer, tag);
            }
            case RECV -> {
                return communicator.recv(output, count, type, peer, tag);
            }
            case BARRIER -> communicator.barrier();
        }
        return HostCommunicator.COMPLETE;
    }

    /**
     * Calls a library that enqueues.
     *
     * @param communicator of the engine
     * @param stream where to
     */
    public final void call(StreamCommunicator communicator, long stream) {
        switch (kind) {
            case BROADCAST -> communicator.broadcast(output, count, type, peer, stream);
            case ALL_REDUCE -> communicator.allReduce(input, output, count, type, op, stream);
            case REDUCE -> communicator.reduce(input, output, count, type, op, peer, stream);
            case ALL_GATHER -> communicator.allGather(input, output, count, type, stream);
            case ALL_GATHER_V -> communicator.allGatherV(input, output, outputCounts, type, stream);
            case GATHER -> communicator.gather(input, output, count, type, peer, stream);
            case SCATTER -> communicator.scatter(input, output, count, type, peer, stream);
            case REDUCE_SCATTER ->
                    communicator.reduceScatter(input, output, count, type, op, stream);
            case REDUCE_SCATTER_V ->
                    communicator.reduceScatterV(input, output, inputCounts, type, op, stream);
            case ALL_TO_ALL -> communicator.allToAll(input, output, count, type, stream);
            case ALL_TO_ALL_V ->
                    communicator.allToAllV(input, output, inputCounts, outputCounts, type, stream);
            case SEND -> communicator.send(input, count, type, peer, tag, stream);
            case RECV -> communicator.recv(output, count, type, peer, tag, stream);
            case BARRIER -> communicator.barrier(stream);
        }
    }

    /** Returns whether it is complete although the engine still has it in flight. */
    public boolean isDone() {
        return false;
    }

    /** Returns whether an observer sees it. */
    public final boolean isObserved() {
        return observed != null;
    }

    /** Records the time of the device, for observers. */
    public final void measured(long nanos) {
        if (observed != null) {
            observed.measured(nanos);
        }
    }

    /** Returns the size of the tensor of this rank, or the larger one of input and output. */
    final long bytes(int size) {
        if (type == null) {
            return 0;
        }
        long elements =
                switch (kind) {
                    case ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL, GATHER, SCATTER -> count * size;
                    case ALL_GATHER_V -> sum(outputCounts);
                    case REDUCE_SCATTER_V -> sum(inputCounts);
                    case ALL_TO_ALL_V -> Math.max(sum(inputCounts), sum(outputCounts));
                    default -> count;
                };
        return elements * type.size();
    }

    /**
     * Returns whether reading, or writing, a range of host memory would collide with this
     * operation.
     *
     * @param start of the range
     * @param end of the range, exclusive
     * @param writes whether the range is to be written; it is read otherwise
     * @param rank of this process in the group
     * @param size of the group
     */
    public final boolean collides(long start, long end, boolean writes, int rank, int size) {
        if (kind == OperationKind.BROADCAST) {
            // Its one tensor is read on the root and written elsewhere.
            return (writes || peer != rank)
                    && overlaps(start, end, output, count, outputParts, outputCounts);
        }
        return overlaps(start, end, output, written(rank, size), outputParts, outputCounts)
                || (writes
                        && overlaps(start, end, input, read(rank, size), inputParts, inputCounts));
    }

    private boolean overlaps(
            long start, long end, long address, long elements, long[] parts, long[] counts) {
        if (elements == 0) {
            return false;
        }
        if (parts == null) {
            return start < address + elements * type.size() && address < end;
        }
        for (int i = 0; i < parts.length; i++) {
            long each = counts == null ? count : counts[i];
            if (start < parts[i] + each * type.size() && parts[i] < end) {
                return true;
            }
        }
        return false;
    }

    /** Returns how many elements it reads. */
    private long read(int rank, int size) {
        return switch (kind) {
            case BROADCAST, ALL_REDUCE, REDUCE, ALL_GATHER, GATHER, SEND -> count;
            case SCATTER -> peer == rank ? count * size : 0;
            case REDUCE_SCATTER, ALL_TO_ALL -> count * size;
            case ALL_GATHER_V -> outputCounts[rank];
            case REDUCE_SCATTER_V, ALL_TO_ALL_V -> sum(inputCounts);
            case RECV, BARRIER -> 0;
        };
    }

    /** Returns how many elements it writes. */
    private long written(int rank, int size) {
        return switch (kind) {
            case BROADCAST, ALL_REDUCE, SCATTER, REDUCE_SCATTER, RECV -> count;
            case REDUCE -> peer == rank ? count : 0;
            case GATHER -> peer == rank ? count * size : 0;
            case ALL_GATHER, ALL_TO_ALL -> count * size;
            case REDUCE_SCATTER_V -> inputCounts[rank];
            case ALL_GATHER_V, ALL_TO_ALL_V -> sum(outputCounts);
            case SEND, BARRIER -> 0;
        };
    }

    private static long sum(long[] counts) {
        long sum = 0;
        for (long each : counts) {
            sum += each;
        }
        return sum;
    }

    /** Returns the context of a failure of this operation. */
    public final FailureContext context(FailureContext group) {
        return group.of(describe(), sequence);
    }

    /**
     * Describes the operation with the arguments that must be the same on all ranks, for messages
     * and for comparing ranks.
     *
     * @return for instance {@code allReduce(float32 x 4, SUM)}
     */
    public final String describe() {
        StringBuilder text = new StringBuilder(kind.toString()).append('(');
        if (type != null) {
            text.append(type);
            switch (kind) {
                case ALL_GATHER_V -> text.append(" x ").append(Arrays.toString(outputCounts));
                case REDUCE_SCATTER_V -> text.append(" x ").append(Arrays.toString(inputCounts));
                case ALL_TO_ALL_V -> {}
                default -> text.append(" x ").append(count);
            }
        }
        if (op != null) {
            text.append(", ").append(op);
        }
        switch (kind) {
            case BROADCAST, REDUCE, GATHER, SCATTER -> text.append(", root ").append(peer);
            case SEND -> text.append(" to ").append(peer).append(", tag ").append(tag);
            case RECV ->
                    text.append(" from ")
                            .append(peer == Communicator.ANY_SOURCE ? "any" : peer)
                            .append(", tag ")
                            .append(tag);
            default -> {}
        }
        return text.append(')').toString();
    }
}
