package org.jccl;

import java.util.Arrays;
import java.util.List;
import org.jccl.internal.Operation;

/**
 * What must hold between the arguments of one call; throws an exception that says what does not.
 */
final class ArgumentChecks {

    private final int rank;
    private final int size;
    private final FailureContext context;

    ArgumentChecks(FailureContext context, int size) {
        this.rank = context.rank();
        this.size = size;
        this.context = context;
    }

    int rankArgument(Operation operation, String name, int value) {
        if (value < 0 || value >= size) {
            throw bad(
                    operation,
                    name + " must be a rank of this group, 0 to " + (size - 1) + ", got " + value);
        }
        return value;
    }

    void same(Operation operation, String name, Tensor tensor, Tensor reference) {
        if (tensor == null) {
            throw bad(operation, name + " is null");
        }
        if (tensor.dataType() != reference.dataType()) {
            throw bad(
                    operation,
                    name
                            + " is "
                            + tensor.dataType()
                            + ", other tensors of the call are "
                            + reference.dataType());
        }
        if (!tensor.device().equals(reference.device())) {
            throw bad(
                    operation,
                    name
                            + " is on "
                            + tensor.device()
                            + ", other tensors of the call are on "
                            + reference.device());
        }
    }

    void length(Operation operation, String name, List<Tensor> tensors) {
        if (tensors == null || tensors.size() != size) {
            throw bad(
                    operation,
                    name
                            + " must hold one tensor for each of the "
                            + size
                            + " ranks, got "
                            + (tensors == null ? "null" : String.valueOf(tensors.size())));
        }
    }

    void parts(Operation operation, String name, List<Tensor> tensors, Tensor reference) {
        length(operation, name, tensors);
        for (int i = 0; i < size; i++) {
            same(operation, name + ".get(" + i + ")", tensors.get(i), reference);
        }
    }

    void equalCounts(Operation operation, String name, List<Tensor> tensors, long count) {
        for (int i = 0; i < size; i++) {
            if (tensors.get(i).count() != count) {
                throw bad(
                        operation,
                        name
                                + ".get("
                                + i
                                + ") has "
                                + tensors.get(i).count()
                                + " elements, expected "
                                + count
                                + " as on every rank");
            }
        }
    }

    boolean onlyOnRoot(Operation operation, String name, List<Tensor> tensors, int root) {
        boolean given = tensors != null && !tensors.isEmpty();
        if (rank == root && !given) {
            throw bad(operation, name + " must be given on the root");
        }
        if (rank != root && given) {
            throw bad(operation, name + " must be given on the root only; pass an empty list here");
        }
        return rank == root;
    }

    void multiple(
            Operation operation, String large, long largeCount, String small, long smallCount) {
        // Divided rather than multiplied, so that nothing overflows.
        if (largeCount % size != 0 || largeCount / size != smallCount) {
            throw bad(
                    operation,
                    large
                            + " has "
                            + largeCount
                            + " elements, expected world size "
                            + size
                            + " times the "
                            + smallCount
                            + " of "
                            + small);
        }
    }

    long[] splits(Operation operation, String name, long[] splits, long count) {
        if (splits == null || splits.length != size) {
            throw bad(operation, name + " must hold one count for each of the " + size + " ranks");
        }
        long left = count;
        for (long split : splits) {
            if (split < 0 || split > left) {
                throw bad(
                        operation,
                        name
                                + " "
                                + Arrays.toString(splits)
                                + " must not be negative and must sum up to "
                                + count
                                + " elements");
            }
            left -= split;
        }
        if (left != 0) {
            throw bad(
                    operation,
                    name
                            + " "
                            + Arrays.toString(splits)
                            + " must sum up to "
                            + count
                            + " elements");
        }
        return splits.clone();
    }

    void ownParts(Operation operation, long[] outputCounts, long[] inputCounts) {
        if (outputCounts[rank] != inputCounts[rank]) {
            throw bad(
                    operation,
                    "this rank sends itself "
                            + inputCounts[rank]
                            + " elements but expects "
                            + outputCounts[rank]);
        }
    }

    /**
     * Outputs may not overlap each other or an input; output {@code own} may be the input itself.
     */
    void distinct(Operation operation, List<Tensor> outputs, List<Tensor> inputs, int own) {
        for (int i = 0; i < outputs.size(); i++) {
            Tensor output = outputs.get(i);
            for (int j = i + 1; j < outputs.size(); j++) {
                apart(operation, "output " + i, output, "output " + j, outputs.get(j));
            }
            for (Tensor input : inputs) {
                if (i != own || input.address() != output.address()) {
                    apart(operation, "output " + i, output, "an input", input);
                }
            }
        }
    }

    void apart(Operation operation, String one, Tensor a, String other, Tensor b) {
        boolean empty = a.count() == 0 || b.count() == 0;
        if (!empty
                && a.address() < b.address() + b.byteSize()
                && b.address() < a.address() + a.byteSize()) {
            throw bad(operation, one + " and " + other + " overlap in memory");
        }
    }

    UsageException bad(Operation operation, String problem) {
        return new UsageException(
                new FailureContext(
                        context.group(),
                        rank,
                        operation.kind == null ? "" : operation.kind.toString(),
                        -1),
                problem);
    }
}
