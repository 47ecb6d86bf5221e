package org.jccl.internal.api;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import org.jccl.FailureContext;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.jccl.internal.checks.Lists;
import org.jccl.internal.operation.Operation;
import org.jccl.internal.tensor.NativeTensor;

/** Checks the relations between the arguments of one call. The exceptions name the argument. */
final class ArgumentChecks {

    private static final Tensor[] NO_TENSORS = {};
    private static final Comparator<Tensor> BY_ADDRESS = Comparator.comparingLong(Tensor::address);

    private final int rank;
    private final int size;
    private final FailureContext context;

    ArgumentChecks(FailureContext context, int size) {
        this.rank = context.rank();
        this.size = size;
        this.context = context;
    }

    /** Sets the root. */
    Operation root(Operation operation, int root) {
        return rank(operation, "root", root);
    }

    private Operation rank(Operation operation, String name, int value) {
        if (value < 0 || value >= size) {
            throw bad(
                    operation,
                    "%s must be a rank of this group, 0 to %s, got %s"
                            .formatted(name, size - 1, value));
        }
        operation.peer = value;
        return operation;
    }

    /** Requires a tensor of this library, because only its memory can be retained. */
    void requireOwn(Operation operation, String name, Tensor tensor) {
        if (!(tensor instanceof NativeTensor)) {
            throw bad(
                    operation,
                    "%s is a %s, which was not made by the static methods of Tensor; make a tensor of its memory with Tensor.of(address, count, ...)"
                            .formatted(name, tensor.getClass().getName()));
        }
    }

    void same(Operation operation, String name, Tensor tensor, Tensor reference) {
        if (tensor == null) {
            throw bad(operation, "%s is null".formatted(name));
        }
        requireOwn(operation, name, tensor);
        if (tensor.dataType() != reference.dataType()) {
            throw bad(
                    operation,
                    "%s is %s, other tensors of the call are %s"
                            .formatted(name, tensor.dataType(), reference.dataType()));
        }
        if (!tensor.device().equals(reference.device())) {
            throw bad(
                    operation,
                    "%s is on %s, other tensors of the call are on %s"
                            .formatted(name, tensor.device(), reference.device()));
        }
    }

    private static boolean isSame(Tensor tensor, Tensor reference) {
        return tensor instanceof NativeTensor
                && tensor.dataType() == reference.dataType()
                && tensor.device().equals(reference.device());
    }

    /** Copies a list of the caller; returns null for null. */
    List<Tensor> copy(String name, List<Tensor> tensors) {
        return Lists.copy(tensors, NO_TENSORS, context, name);
    }

    /** Copies a list of one or more tensors of one type on one device. */
    List<Tensor> list(String name, List<Tensor> given) {
        List<Tensor> tensors = copy(name, given);
        if (tensors == null || tensors.isEmpty()) {
            throw bad(null, "%s is %s".formatted(name, tensors == null ? "null" : "empty"));
        }
        if (tensors.get(0) == null) {
            throw bad(null, "%s.get(0) is null".formatted(name));
        }
        requireOwn(null, name + ".get(0)", tensors.get(0));
        allSame(null, name, tensors, tensors.get(0));
        return tensors;
    }

    /** Copies a list that corresponds to another one, tensor by tensor. */
    List<Tensor> list(String name, List<Tensor> given, String otherName, List<Tensor> other) {
        List<Tensor> tensors = copy(name, given);
        length(null, name, tensors, other.size(), "of " + otherName);
        allSame(null, name, tensors, other.get(0));
        return tensors;
    }

    /** Requires one tensor for each rank. */
    void length(Operation operation, String name, List<Tensor> tensors) {
        length(operation, name, tensors, size, "ranks");
    }

    private void length(
            Operation operation, String name, List<Tensor> tensors, int length, String what) {
        if (tensors == null || tensors.size() != length) {
            throw bad(
                    operation,
                    "%s must hold one tensor for each of the %s %s, got %s"
                            .formatted(
                                    name, length, what, tensors == null ? null : tensors.size()));
        }
    }

    /** Requires one tensor for each rank, all like the reference. */
    void parts(Operation operation, String name, List<Tensor> tensors, Tensor reference) {
        length(operation, name, tensors);
        allSame(operation, name, tensors, reference);
    }

    private void allSame(Operation operation, String name, List<Tensor> tensors, Tensor reference) {
        for (int i = 0; i < tensors.size(); i++) {
            if (!isSame(tensors.get(i), reference)) {
                same(operation, name + ".get(" + i + ")", tensors.get(i), reference);
            }
        }
    }

    void equalCounts(Operation operation, String name, List<Tensor> tensors, long count) {
        for (int i = 0; i < size; i++) {
            if (tensors.get(i).count() != count) {
                throw bad(
                        operation,
                        "%s.get(%s) has %s elements, expected %s as on every rank"
                                .formatted(name, i, tensors.get(i).count(), count));
            }
        }
    }

    boolean onlyOnRoot(Operation operation, String name, List<Tensor> tensors, int root) {
        boolean given = tensors != null && !tensors.isEmpty();
        if (rank == root && !given) {
            throw bad(operation, "%s must be given on the root".formatted(name));
        }
        if (rank != root && given) {
            throw bad(
                    operation,
                    "%s must be given on the root only; pass an empty list here".formatted(name));
        }
        return rank == root;
    }

    void multiple(
            Operation operation, String large, long largeCount, String small, long smallCount) {
        // Divided instead of multiplied, so that nothing overflows.
        if (largeCount % size != 0 || largeCount / size != smallCount) {
            throw bad(
                    operation,
                    "%s has %s elements, expected world size %s times the %s of %s"
                            .formatted(large, largeCount, size, smallCount, small));
        }
    }

    /** Same, for tensor {@code i} of two lists. */
    void multiple(int i, String large, long largeCount, String small, long smallCount) {
        String which = ".get(" + i + ")";
        multiple(null, large + which, largeCount, small + which, smallCount);
    }

    /** Requires that this rank's tensor of a list is as large as its other tensor. */
    void ownPart(Operation operation, String parts, long[] counts, String otherName, Tensor other) {
        if (counts[rank] != other.count()) {
            throw bad(
                    operation,
                    "%s.get(%s) has %s elements, %s has %s; on each rank both must have the same number"
                            .formatted(parts, rank, counts[rank], otherName, other.count()));
        }
    }

    /** Requires tensors of equal size that are one part for each rank. */
    void exchange(Operation operation, Tensor output, Tensor input) {
        if (input.count() % size != 0) {
            throw bad(
                    operation,
                    "input has %s elements, which is not a multiple of the world size %s; pass splits"
                            .formatted(input.count(), size));
        }
        if (output.count() != input.count()) {
            throw bad(
                    operation,
                    "output has %s elements, input has %s"
                            .formatted(output.count(), input.count()));
        }
    }

    /** Copies the splits of the caller. */
    long[] splits(Operation operation, String name, long[] given, long count) {
        if (given == null || given.length != size) {
            throw bad(
                    operation,
                    "%s must hold one count for each of the %s ranks".formatted(name, size));
        }
        long[] splits = given.clone();
        long left = count;
        for (long split : splits) {
            if (split < 0 || split > left) {
                throw bad(
                        operation,
                        "%s %s must not be negative and must sum up to %s elements"
                                .formatted(name, Arrays.toString(splits), count));
            }
            left -= split;
        }
        if (left != 0) {
            throw bad(
                    operation,
                    "%s %s must sum up to %s elements"
                            .formatted(name, Arrays.toString(splits), count));
        }
        return splits;
    }

    void ownParts(Operation operation) {
        long sent = operation.inputCounts[rank];
        long expected = operation.outputCounts[rank];
        if (sent != expected) {
            throw bad(
                    operation,
                    "this rank sends itself %s elements but expects %s".formatted(sent, expected));
        }
    }

    /**
     * Requires that outputs do not overlap each other or an input. Output {@code own} may be the
     * input itself.
     */
    void distinct(Operation operation, List<Tensor> outputs, List<Tensor> inputs, int own) {
        Tensor[] inOrder = inOrderOfMemory(outputs);
        for (int i = 1; i < inOrder.length; i++) {
            if (overlap(inOrder[i - 1], inOrder[i])) {
                int one = outputs.indexOf(inOrder[i - 1]);
                int other = outputs.lastIndexOf(inOrder[i]);
                throw overlapping(
                        operation,
                        "output " + Math.min(one, other),
                        "output " + Math.max(one, other));
            }
        }
        for (Tensor input : inputs) {
            int nearest = lastBefore(inOrder, input.address() + input.byteSize());
            if (nearest < 0 || !overlap(inOrder[nearest], input)) {
                continue;
            }
            int index = outputs.indexOf(inOrder[nearest]);
            if (index != own || input.address() != inOrder[nearest].address()) {
                throw overlapping(operation, "output " + index, "an input");
            }
        }
    }

    /** Requires that an output overlaps no input but this rank's own, which it may be. */
    void apartFromOthers(Operation operation, Tensor output, List<Tensor> inputs) {
        for (int i = 0; i < inputs.size(); i++) {
            Tensor input = inputs.get(i);
            if (i != rank || input.address() != output.address()) {
                apart(operation, "output", output, "input " + i, input);
            }
        }
    }

    /**
     * Requires that outputs do not overlap each other, nor an input, except that each may be the
     * input of the same rank.
     *
     * @return whether one is
     */
    boolean distinctOrInPlace(Operation operation, List<Tensor> outputs, List<Tensor> inputs) {
        List<Tensor> others = new ArrayList<>(inputs.size());
        for (int i = 0; i < inputs.size(); i++) {
            boolean same = inputs.get(i).address() == outputs.get(i).address();
            if (!same || inputs.get(i).count() == 0) {
                others.add(inputs.get(i));
            }
        }
        distinct(operation, outputs, others, -1);
        return others.size() < inputs.size();
    }

    /** Returns the non-empty tensors in the order of their addresses. */
    private static Tensor[] inOrderOfMemory(List<Tensor> tensors) {
        Tensor[] inOrder = new Tensor[tensors.size()];
        int count = 0;
        for (int i = 0; i < inOrder.length; i++) {
            if (tensors.get(i).count() > 0) {
                inOrder[count++] = tensors.get(i);
            }
        }
        // They usually are in this order, and sorting then compares each once.
        Arrays.sort(inOrder, 0, count, BY_ADDRESS);
        return count == inOrder.length ? inOrder : Arrays.copyOf(inOrder, count);
    }

    /**
     * Returns the last of the ordered tensors that begins before an address, or -1. If they do not
     * overlap, no other one reaches as far.
     */
    private static int lastBefore(Tensor[] inOrder, long address) {
        int low = 0;
        int high = inOrder.length;
        while (low < high) {
            int middle = (low + high) >>> 1;
            if (inOrder[middle].address() < address) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low - 1;
    }

    void apart(Operation operation, String one, Tensor a, String other, Tensor b) {
        if (overlap(a, b)) {
            throw overlapping(operation, one, other);
        }
    }

    private static boolean overlap(Tensor a, Tensor b) {
        return a.count() > 0
                && b.count() > 0
                && a.address() < b.address() + b.byteSize()
                && b.address() < a.address() + a.byteSize();
    }

    private UsageException overlapping(Operation operation, String one, String other) {
        return bad(operation, "%s and %s overlap in memory".formatted(one, other));
    }

    /** Sets how elements are combined. */
    Operation reduction(Operation operation, ReduceOp op, Tensor tensor) {
        if (op == null) {
            throw bad(operation, "reduce op is null");
        }
        if (!op.supports(operation.type)) {
            throw bad(operation, "%s is not defined for %s".formatted(op, operation.type));
        }
        if (!operation.runner.reduces(op, operation.type)) {
            throw bad(
                    operation,
                    "this backend has no %s of %s on %s"
                            .formatted(op, operation.type, tensor.device()));
        }
        operation.op = op;
        return operation;
    }

    /** Sets the other side of a message, and its tag. */
    void peer(Operation operation, int peer, int tag) {
        message(operation, tag);
        rank(operation, "peer", peer);
        if (peer == rank) {
            throw bad(operation, "peer is this rank itself; copy the tensor instead");
        }
    }

    /** Sets the tag of a message. */
    void message(Operation operation, int tag) {
        if (size == 1) {
            throw bad(operation, "the group has no other rank");
        }
        if (tag < 0) {
            throw bad(operation, "tag must not be negative, got %s".formatted(tag));
        }
        int largest = operation.runner.capabilities().largestTag();
        if (tag > largest) {
            throw bad(
                    operation,
                    largest == 0
                            ? "this backend has no tags: sends and receives between two ranks"
                                    + " match in the order of the calls; use tag 0, got "
                                    + tag
                            : "tag is at most " + largest + " on this backend, got " + tag);
        }
        operation.tag = tag;
    }

    /**
     * Creates the exception, and releases what the operation retains so far.
     *
     * @param operation null if it is not known yet
     */
    UsageException bad(Operation operation, String problem) {
        FailureContext where = context;
        if (operation != null) {
            operation.releaseMemory();
            where = context.of(operation.kind.toString(), -1);
        }
        return new UsageException(where, problem);
    }
}
