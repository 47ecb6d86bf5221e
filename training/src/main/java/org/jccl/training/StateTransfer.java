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
 * @param group the group of both ranks
 * @param replica the state of this rank
 */
record StateTransfer(ProcessGroup group, Replica replica) {

    private static final int MOST_BYTES = 1 << 20;

    void send(int to) {
        byte[] other = replica.other();
        if (other == null || other.length > MOST_BYTES) {
            throw new UsageException(
                    context(),
                    "Replica.other() must return at most %s bytes, but returned %s"
                            .formatted(MOST_BYTES, other == null ? "null" : other.length));
        }
        try (Tensor head = longs(group, kind(), other.length)) {
            group.sync().send(head, to);
        }
        if (other.length > 0) {
            try (Tensor bytes = bytes(other)) {
                group.sync().send(bytes, to);
            }
        }
        awaitAll(replica.tensors().stream().map(tensor -> group.send(tensor, to)).toList());
    }

    void receive(int from) {
        long[] head = new long[2];
        try (Tensor received = longs(group, head)) {
            group.sync().recv(received, from);
            received.copyTo(head);
            receive(from, head);
            // On a device the tensors may still be in flight. This read is ordered after them and
            // throws their failure.
            received.copyTo(head);
        }
    }

    private void receive(int from, long[] head) {
        if (head[0] != kind() || head[1] < 0 || head[1] > MOST_BYTES) {
            throw new UsageException(
                    context(),
                    "Replica.tensors() has other tensors on this rank than on rank %s: return the same types and counts, in the same order, on all ranks. Here: %s"
                            .formatted(from, described()));
        }
        byte[] other = new byte[(int) head[1]];
        if (other.length > 0) {
            try (Tensor bytes = bytes(other)) {
                group.sync().recv(bytes, from);
                bytes.copyTo(other);
            }
        }
        awaitAll(replica.tensors().stream().map(tensor -> group.recv(tensor, from)).toList());
        replica.restore(other);
    }

    private FailureContext context() {
        return FailureContext.ofGroup(group.name(), group.rank());
    }

    private List<String> described() {
        return replica.tensors().stream()
                .map(tensor -> tensor.dataType() + " x " + tensor.count())
                .toList();
    }

    /** Returns a number that differs if the tensors of two ranks differ in type, count or order. */
    private long kind() {
        return described().hashCode();
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
