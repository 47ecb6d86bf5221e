package org.jccl;

import java.util.List;
import org.jccl.internal.Engine;
import org.jccl.internal.Operation;
import org.jccl.internal.OperationKind;
import org.jccl.spi.Communicator;

/**
 * Checks the arguments of each operation and fills in what the engine runs. Everything that can be
 * known on one rank is checked here, before native code sees it.
 */
final class Arguments {

    private final int rank;
    private final int size;
    private final FailureContext context;

    Arguments(FailureContext context, int size) {
        this.rank = context.rank();
        this.size = size;
        this.context = context;
    }

    void broadcast(Operation operation, Tensor tensor, int root) {
        start(operation, OperationKind.BROADCAST, tensor, "tensor");
        operation.peer = rankArgument(operation, "root", root);
        operation.output = tensor.address();
        operation.count = tensor.count();
        hold(operation, tensor, "tensor");
    }

    void allReduce(Operation operation, Engine engine, Tensor tensor, ReduceOp op) {
        start(operation, OperationKind.ALL_REDUCE, tensor, "tensor");
        reduction(operation, engine, op);
        operation.input = tensor.address();
        operation.output = tensor.address();
        operation.count = tensor.count();
        hold(operation, tensor, "tensor");
    }

    void reduce(Operation operation, Engine engine, Tensor tensor, int root, ReduceOp op) {
        start(operation, OperationKind.REDUCE, tensor, "tensor");
        reduction(operation, engine, op);
        operation.peer = rankArgument(operation, "root", root);
        operation.input = tensor.address();
        operation.output = tensor.address();
        operation.count = tensor.count();
        hold(operation, tensor, "tensor");
    }

    void allGather(Operation operation, List<Tensor> outputs, Tensor input) {
        start(operation, OperationKind.ALL_GATHER, input, "input");
        parts(operation, "outputs", outputs, input);
        long[] counts = counts(outputs);
        if (counts[rank] != input.count()) {
            throw bad(
                    operation,
                    "outputs.get("
                            + rank
                            + ") has "
                            + counts[rank]
                            + " elements, input has "
                            + input.count()
                            + "; this rank's output must be as large as its input");
        }
        if (allEqual(counts)) {
            operation.count = input.count();
        } else {
            operation.kind = OperationKind.ALL_GATHER_V;
            operation.outputCounts = counts;
        }
        operation.input = input.address();
        outputParts(operation, outputs);
        distinct(operation, outputs, List.of(input), rank);
        hold(operation, input, "input");
        holdAll(operation, "outputs", outputs);
    }

    void allGatherSingle(Operation operation, Tensor output, Tensor input) {
        start(operation, OperationKind.ALL_GATHER, input, "input");
        same(operation, "output", output, input);
        multiple(operation, "output", output.count(), "input", input.count());
        operation.count = input.count();
        operation.input = input.address();
        operation.output = output.address();
        long own = output.address() + rank * input.byteSize();
        if (input.address() != own) {
            apart(operation, "output", output, "input", input);
        }
        hold(operation, output, "output");
        hold(operation, input, "input");
    }

    void gather(Operation operation, List<Tensor> outputs, Tensor input, int root) {
        start(operation, OperationKind.GATHER, input, "input");
        operation.peer = rankArgument(operation, "root", root);
        operation.count = input.count();
        operation.input = input.address();
        if (onlyOnRoot(operation, "outputs", outputs, root)) {
            parts(operation, "outputs", outputs, input);
            equalCounts(operation, "outputs", outputs, input.count());
            outputParts(operation, outputs);
            distinct(operation, outputs, List.of(input), rank);
            holdAll(operation, "outputs", outputs);
        }
        hold(operation, input, "input");
    }

    void scatter(Operation operation, Tensor output, List<Tensor> inputs, int root) {
        start(operation, OperationKind.SCATTER, output, "output");
        operation.peer = rankArgument(operation, "root", root);
        operation.count = output.count();
        operation.output = output.address();
        if (onlyOnRoot(operation, "inputs", inputs, root)) {
            parts(operation, "inputs", inputs, output);
            equalCounts(operation, "inputs", inputs, output.count());
            inputParts(operation, inputs);
            distinct(operation, List.of(output), inputs, -1);
            holdAll(operation, "inputs", inputs);
        }
        hold(operation, output, "output");
    }

    void reduceScatter(
            Operation operation, Engine engine, Tensor output, List<Tensor> inputs, ReduceOp op) {
        start(operation, OperationKind.REDUCE_SCATTER, output, "output");
        reduction(operation, engine, op);
        parts(operation, "inputs", inputs, output);
        long[] counts = counts(inputs);
        if (counts[rank] != output.count()) {
            throw bad(
                    operation,
                    "inputs.get("
                            + rank
                            + ") has "
                            + counts[rank]
                            + " elements, output has "
                            + output.count()
                            + "; this rank's input must be as large as its output");
        }
        if (allEqual(counts) && !engine.communicator().reducesListsApart()) {
            operation.count = output.count();
        } else {
            operation.kind = OperationKind.REDUCE_SCATTER_V;
            operation.inputCounts = counts;
        }
        operation.output = output.address();
        inputParts(operation, inputs);
        distinct(operation, List.of(output), inputs, -1);
        hold(operation, output, "output");
        holdAll(operation, "inputs", inputs);
    }

    void reduceScatterSingle(
            Operation operation, Engine engine, Tensor output, Tensor input, ReduceOp op) {
        start(operation, OperationKind.REDUCE_SCATTER, output, "output");
        reduction(operation, engine, op);
        same(operation, "input", input, output);
        multiple(operation, "input", input.count(), "output", output.count());
        operation.count = output.count();
        operation.input = input.address();
        operation.output = output.address();
        apart(operation, "output", output, "input", input);
        hold(operation, output, "output");
        hold(operation, input, "input");
    }

    void allToAll(Operation operation, List<Tensor> outputs, List<Tensor> inputs) {
        length(operation, "inputs", inputs);
        start(operation, OperationKind.ALL_TO_ALL, inputs.get(0), "inputs.get(0)");
        parts(operation, "inputs", inputs, inputs.get(0));
        parts(operation, "outputs", outputs, inputs.get(0));
        long[] inputCounts = counts(inputs);
        long[] outputCounts = counts(outputs);
        ownParts(operation, outputCounts, inputCounts);
        operation.kind = OperationKind.ALL_TO_ALL_V;
        operation.inputCounts = inputCounts;
        operation.outputCounts = outputCounts;
        inputParts(operation, inputs);
        outputParts(operation, outputs);
        distinct(operation, outputs, inputs, -1);
        holdAll(operation, "inputs", inputs);
        holdAll(operation, "outputs", outputs);
    }

    void allToAllSingle(Operation operation, Tensor output, Tensor input) {
        start(operation, OperationKind.ALL_TO_ALL, input, "input");
        same(operation, "output", output, input);
        if (input.count() % size != 0) {
            throw bad(
                    operation,
                    "input has "
                            + input.count()
                            + " elements, which is no multiple of the world size "
                            + size
                            + "; pass splits");
        }
        if (output.count() != input.count()) {
            throw bad(
                    operation,
                    "output has " + output.count() + " elements, input has " + input.count());
        }
        operation.count = input.count() / size;
        operation.input = input.address();
        operation.output = output.address();
        apart(operation, "output", output, "input", input);
        hold(operation, output, "output");
        hold(operation, input, "input");
    }

    void allToAllSingle(
            Operation operation,
            Tensor output,
            Tensor input,
            long[] outputSplits,
            long[] inputSplits) {
        start(operation, OperationKind.ALL_TO_ALL_V, input, "input");
        same(operation, "output", output, input);
        operation.inputCounts = splits(operation, "inputSplits", inputSplits, input.count());
        operation.outputCounts = splits(operation, "outputSplits", outputSplits, output.count());
        ownParts(operation, operation.outputCounts, operation.inputCounts);
        operation.input = input.address();
        operation.output = output.address();
        apart(operation, "output", output, "input", input);
        hold(operation, output, "output");
        hold(operation, input, "input");
    }

    void send(Operation operation, Engine engine, Tensor tensor, int peer, int tag) {
        start(operation, OperationKind.SEND, tensor, "tensor");
        peer(operation, engine, peer, tag);
        operation.input = tensor.address();
        operation.count = tensor.count();
        hold(operation, tensor, "tensor");
    }

    void recv(Operation operation, Engine engine, Tensor tensor, int peer, int tag) {
        start(operation, OperationKind.RECV, tensor, "tensor");
        peer(operation, engine, peer, tag);
        operation.output = tensor.address();
        operation.count = tensor.count();
        hold(operation, tensor, "tensor");
    }

    void recvAnySource(Operation operation, Engine engine, Tensor tensor, int tag) {
        start(operation, OperationKind.RECV, tensor, "tensor");
        message(operation, engine, tag);
        if (!engine.communicator().receivesFromAnySource()) {
            throw bad(operation, "this backend receives only from a peer that is named");
        }
        operation.peer = Communicator.ANY_SOURCE;
        operation.output = tensor.address();
        operation.count = tensor.count();
        hold(operation, tensor, "tensor");
    }

    void barrier(Operation operation) {
        operation.kind = OperationKind.BARRIER;
    }

    private void start(Operation operation, OperationKind kind, Tensor tensor, String name) {
        operation.kind = kind;
        if (tensor == null) {
            throw bad(operation, name + " is null");
        }
        operation.type = tensor.dataType();
    }

    private void reduction(Operation operation, Engine engine, ReduceOp op) {
        if (op == null) {
            throw bad(operation, "reduce op is null");
        }
        if (!op.supports(operation.type)) {
            throw bad(operation, op + " is not defined for " + operation.type);
        }
        if (!engine.reduces(op, operation.type)) {
            throw bad(operation, "this backend has no " + op + " of " + operation.type);
        }
        operation.op = op;
    }

    private int rankArgument(Operation operation, String name, int value) {
        if (value < 0 || value >= size) {
            throw bad(
                    operation,
                    name + " must be a rank of this group, 0 to " + (size - 1) + ", got " + value);
        }
        return value;
    }

    private void peer(Operation operation, Engine engine, int peer, int tag) {
        message(operation, engine, tag);
        operation.peer = rankArgument(operation, "peer", peer);
        if (peer == rank) {
            throw bad(operation, "peer is this rank itself; copy the tensor instead");
        }
    }

    private void message(Operation operation, Engine engine, int tag) {
        if (size == 1) {
            throw bad(operation, "the group has no other rank");
        }
        if (tag < 0) {
            throw bad(operation, "tag must not be negative, got " + tag);
        }
        if (tag != 0 && !engine.communicator().matchesTags()) {
            throw bad(
                    operation,
                    "this backend has no tags: messages between two ranks match in the order of the"
                            + " calls; use tag 0, got "
                            + tag);
        }
        operation.tag = tag;
    }

    private void same(Operation operation, String name, Tensor tensor, Tensor reference) {
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

    private void length(Operation operation, String name, List<Tensor> tensors) {
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

    private void parts(Operation operation, String name, List<Tensor> tensors, Tensor reference) {
        length(operation, name, tensors);
        for (int i = 0; i < size; i++) {
            same(operation, name + ".get(" + i + ")", tensors.get(i), reference);
        }
    }

    private void equalCounts(Operation operation, String name, List<Tensor> tensors, long count) {
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

    private boolean onlyOnRoot(Operation operation, String name, List<Tensor> tensors, int root) {
        boolean given = tensors != null && !tensors.isEmpty();
        if (rank == root && !given) {
            throw bad(operation, name + " must be given on the root");
        }
        if (rank != root && given) {
            throw bad(operation, name + " must be given on the root only; pass an empty list here");
        }
        return rank == root;
    }

    private void multiple(
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

    private long[] splits(Operation operation, String name, long[] splits, long count) {
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
                                + java.util.Arrays.toString(splits)
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
                            + java.util.Arrays.toString(splits)
                            + " must sum up to "
                            + count
                            + " elements");
        }
        return splits.clone();
    }

    private void ownParts(Operation operation, long[] outputCounts, long[] inputCounts) {
        if (outputCounts[rank] != inputCounts[rank]) {
            throw bad(
                    operation,
                    "this rank sends itself "
                            + inputCounts[rank]
                            + " elements but expects "
                            + outputCounts[rank]);
        }
    }

    private static long[] counts(List<Tensor> tensors) {
        long[] counts = new long[tensors.size()];
        for (int i = 0; i < counts.length; i++) {
            counts[i] = tensors.get(i).count();
        }
        return counts;
    }

    private static boolean allEqual(long[] counts) {
        for (long count : counts) {
            if (count != counts[0]) {
                return false;
            }
        }
        return true;
    }

    private static void inputParts(Operation operation, List<Tensor> tensors) {
        if (adjacent(tensors)) {
            operation.input = tensors.get(0).address();
        } else {
            operation.inputParts = addresses(tensors);
        }
    }

    private static void outputParts(Operation operation, List<Tensor> tensors) {
        if (adjacent(tensors)) {
            operation.output = tensors.get(0).address();
        } else {
            operation.outputParts = addresses(tensors);
        }
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

    private static long[] addresses(List<Tensor> tensors) {
        long[] addresses = new long[tensors.size()];
        for (int i = 0; i < addresses.length; i++) {
            addresses[i] = tensors.get(i).address();
        }
        return addresses;
    }

    /**
     * Outputs may not overlap each other or an input; output {@code own} may be the input itself.
     */
    private void distinct(Operation operation, List<Tensor> outputs, List<Tensor> inputs, int own) {
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

    private void apart(Operation operation, String one, Tensor a, String other, Tensor b) {
        boolean empty = a.count() == 0 || b.count() == 0;
        if (!empty
                && a.address() < b.address() + b.byteSize()
                && b.address() < a.address() + a.byteSize()) {
            throw bad(operation, one + " and " + other + " overlap in memory");
        }
    }

    private void hold(Operation operation, Tensor tensor, String name) {
        if (!operation.hold(tensor.memory())) {
            operation.releaseMemory();
            throw bad(operation, name + " is closed");
        }
    }

    private void holdAll(Operation operation, String name, List<Tensor> tensors) {
        for (int i = 0; i < tensors.size(); i++) {
            hold(operation, tensors.get(i), name + ".get(" + i + ")");
        }
    }

    private UsageException bad(Operation operation, String problem) {
        return new UsageException(
                new FailureContext(
                        context.group(),
                        rank,
                        operation.kind == null ? "" : operation.kind.toString(),
                        -1),
                problem);
    }
}
