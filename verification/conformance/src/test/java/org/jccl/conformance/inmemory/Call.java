package org.jccl.conformance.inmemory;

import java.util.Arrays;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.spi.OperationKind;

/** One rank's part of an operation. Guarded by its hub. */
final class Call {

    final OperationKind kind;
    final int rank;
    final DataType type;
    long input;
    long output;
    long count;
    long[] inputCounts;
    long[] outputCounts;
    ReduceOp op;
    int peer = -1;
    int tag;

    boolean done;
    int source = -1;

    Call(OperationKind kind, int rank, DataType type) {
        this.kind = kind;
        this.rank = rank;
        this.type = type;
    }

    /** Whether the two are parts of the same collective. */
    boolean matches(Call other) {
        boolean alike =
                kind == other.kind
                        && type == other.type
                        && count == other.count
                        && peer == other.peer
                        && (op == null ? other.op == null : op.equals(other.op));
        return alike
                && switch (kind) {
                    case ALL_GATHER_V -> Arrays.equals(outputCounts, other.outputCounts);
                    case REDUCE_SCATTER_V -> Arrays.equals(inputCounts, other.inputCounts);
                    case ALL_TO_ALL_V ->
                            inputCounts[other.rank] == other.outputCounts[rank]
                                    && outputCounts[other.rank] == other.inputCounts[rank];
                    default -> true;
                };
    }

    byte[] read(long elementOffset, long elements) {
        byte[] bytes = new byte[Math.toIntExact(elements * type.size())];
        return bytes.length == 0 ? bytes : memory(input, elementOffset, bytes.length).copyTo(bytes);
    }

    void write(byte[] bytes, int from, int length, long elementOffset) {
        if (length > 0) {
            memory(output, elementOffset, length)
                    .copyFrom(Arrays.copyOfRange(bytes, from, from + length));
        }
    }

    private Tensor memory(long address, long elementOffset, int bytes) {
        return Tensor.of(
                address + elementOffset * type.size(), bytes, DataType.INT8, Device.CPU, null);
    }

    void write(byte[] bytes) {
        write(bytes, 0, bytes.length, 0);
    }
}
