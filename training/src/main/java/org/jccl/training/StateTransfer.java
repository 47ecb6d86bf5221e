package org.jccl.training;

import java.util.List;
import org.jccl.DataType;
import org.jccl.FailureContext;
import org.jccl.ProcessGroup;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.jccl.Work;

/**
 * Sends the state of a replica from one rank to another.
 *
 * @param group the group of both
 * @param replica the state of this rank
 */
record StateTransfer(ProcessGroup group, Replica replica) {

    private static final int MOST_BYTES = 1 << 20;

    void send(int to) {
        byte[] other = replica.other();
        if (other == null || other.length > MOST_BYTES) {
            throw new UsageException(
                    FailureContext.ofGroup(group.name(), group.rank()),
                    "Replica.other() must return at most %s bytes, but returned %s"
                            .formatted(MOST_BYTES, other == null ? "null" : other.length));
        }
        try (Tensor length = longs(group, other.length)) {
            group.sync().send(length, to);
        }
        if (other.length > 0) {
            try (Tensor bytes = bytes(other)) {
                group.sync().send(bytes, to);
            }
        }
        awaitAll(replica.tensors().stream().map(tensor -> group.send(tensor, to)).toList());
    }

    void receive(int from) {
        byte[] other;
        try (Tensor length = longs(group, 0)) {
            group.sync().recv(length, from);
            other = new byte[(int) length.copyTo(new long[1])[0]];
        }
        if (other.length > 0) {
            try (Tensor bytes = bytes(other)) {
                group.sync().recv(bytes, from);
                bytes.copyTo(other);
            }
        }
        awaitAll(replica.tensors().stream().map(tensor -> group.recv(tensor, from)).toList());
        replica.restore(other);
    }

    private static void awaitAll(List<Work> works) {
        works.forEach(Work::await);
    }

    /** Returns a tensor on the device of the group. */
    static Tensor longs(ProcessGroup group, long... values) {
        return Tensor.allocate(group.devices().get(0), DataType.INT64, values.length)
                .copyFrom(values);
    }

    private Tensor bytes(byte[] values) {
        return Tensor.allocate(group.devices().get(0), DataType.UINT8, values.length)
                .copyFrom(values);
    }
}
