package org.jccl.internal.api;

import java.util.List;
import org.jccl.Tensor;
import org.jccl.internal.operation.Operation;

/** Lists of tensors that are the parts of an input or output. */
final class TensorLists {

    private TensorLists() {}

    static long[] counts(List<Tensor> tensors) {
        long[] counts = new long[tensors.size()];
        for (int i = 0; i < counts.length; i++) {
            counts[i] = tensors.get(i).count();
        }
        return counts;
    }

    static boolean allEqual(long[] counts) {
        for (long count : counts) {
            if (count != counts[0]) {
                return false;
            }
        }
        return true;
    }

    static long sum(long[] counts) {
        long sum = 0;
        for (long count : counts) {
            sum += count;
        }
        return sum;
    }

    /** Repeats the counts once for each rank. */
    static long[] repeated(long[] counts, int ranks) {
        long[] all = new long[counts.length * ranks];
        for (int rank = 0; rank < ranks; rank++) {
            System.arraycopy(counts, 0, all, rank * counts.length, counts.length);
        }
        return all;
    }

    /**
     * Returns the addresses of the parts of tensors with one part for each rank: those of rank 0 of
     * all tensors, then of rank 1, and so on.
     */
    static long[] ofEachRank(List<Tensor> tensors, List<Tensor> parts, int ranks) {
        long[] addresses = new long[tensors.size() * ranks];
        int next = 0;
        for (int rank = 0; rank < ranks; rank++) {
            for (int i = 0; i < tensors.size(); i++) {
                addresses[next++] = tensors.get(i).address() + rank * parts.get(i).byteSize();
            }
        }
        return addresses;
    }

    static void inputParts(Operation operation, List<Tensor> tensors) {
        if (adjacent(tensors)) {
            operation.input = tensors.get(0).address();
        } else {
            operation.inputParts = addresses(tensors);
        }
    }

    static void outputParts(Operation operation, List<Tensor> tensors) {
        if (adjacent(tensors)) {
            operation.output = tensors.get(0).address();
        } else {
            operation.outputParts = addresses(tensors);
        }
    }

    /** Returns the addresses of the adjacent parts of a tensor; equal parts have no counts. */
    static long[] parts(Tensor tensor, long[] counts, long count, int ranks) {
        long[] addresses = new long[ranks];
        long next = tensor.address();
        for (int i = 0; i < ranks; i++) {
            addresses[i] = next;
            next += (counts == null ? count : counts[i]) * tensor.dataType().size();
        }
        return addresses;
    }

    private static boolean adjacent(List<Tensor> tensors) {
        for (int i = 1; i < tensors.size(); i++) {
            Tensor before = tensors.get(i - 1);
            if (before.address() + before.byteSize() != tensors.get(i).address()) {
                return false;
            }
        }
        return true;
    }

    static long[] addresses(List<Tensor> tensors) {
        long[] addresses = new long[tensors.size()];
        for (int i = 0; i < addresses.length; i++) {
            addresses[i] = tensors.get(i).address();
        }
        return addresses;
    }
}
