package org.jccl.internal.api;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import java.util.function.IntFunction;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.jccl.internal.engine.Engine;
import org.jccl.internal.group.Group;
import org.jccl.internal.operation.Operation;
import org.jccl.internal.tensor.NativeTensor;
import org.jccl.spi.Capabilities.Feature;
import org.jccl.spi.Communicator;
import org.jccl.spi.OperationKind;

/**
 * The operations of a group. Each is written here once, for synchronous, asynchronous and batched
 * calls: its method checks the arguments, and returns an operation that retains their memory, to be
 * run, submitted or added to a batch. Everything that one rank can know is checked here, before
 * native code sees it.
 */
final class Operations {

    private final Group group;
    private final Function<Engine, Operation> empty;
    private final long timeoutNanos;
    private final int rank;
    private final int size;
    private final ArgumentChecks checks;

    /**
     * Creates the operations of a group.
     *
     * @param empty returns an empty operation of the engine that its tensors need
     * @param timeoutNanos how long each may take, or 0 for the timeout of the group
     */
    Operations(Group group, Function<Engine, Operation> empty, long timeoutNanos) {
        this.group = group;
        this.empty = empty;
        this.timeoutNanos = timeoutNanos;
        this.rank = group.context().rank();
        this.size = group.size();
        this.checks = new ArgumentChecks(group.context(), size);
    }

    Operation broadcast(Tensor tensor, int root) {
        return checks.root(inPlace(OperationKind.BROADCAST, tensor), root);
    }

    List<Operation> broadcast(List<Tensor> given, int root) {
        List<Tensor> tensors = distinctList(given);
        return isFlattened(tensors)
                ? List.of(checks.root(inPlace(OperationKind.BROADCAST, tensors), root))
                : together(tensors.size(), i -> broadcast(tensors.get(i), root));
    }

    Operation allReduce(Tensor tensor, ReduceOp op) {
        return checks.reduction(inPlace(OperationKind.ALL_REDUCE, tensor), op, tensor);
    }

    List<Operation> allReduce(List<Tensor> given, ReduceOp op) {
        List<Tensor> tensors = distinctList(given);
        if (!isFlattened(tensors)) {
            return together(tensors.size(), i -> allReduce(tensors.get(i), op));
        }
        Operation operation = inPlace(OperationKind.ALL_REDUCE, tensors);
        return List.of(checks.reduction(operation, op, tensors.get(0)));
    }

    Operation reduce(Tensor tensor, int root, ReduceOp op) {
        Operation operation = inPlace(OperationKind.REDUCE, tensor);
        return checks.root(checks.reduction(operation, op, tensor), root);
    }

    Operation allGather(List<Tensor> given, Tensor input) {
        Operation operation = start(OperationKind.ALL_GATHER, "input", input);
        List<Tensor> outputs = checks.copy("outputs", given);
        checks.parts(operation, "outputs", outputs, input);
        long[] counts = counts(outputs);
        checks.ownPart(operation, "outputs", counts, "input", input);
        if (allEqual(counts) && !has(operation, Feature.SEPARATE_LIST_GATHERING)) {
            operation.count = input.count();
        } else {
            operation.kind = OperationKind.ALL_GATHER_V;
            operation.outputCounts = counts;
        }
        checks.distinct(operation, outputs, List.of(input), rank);
        input(operation, "input", input);
        return outputs(operation, "outputs", outputs);
    }

    Operation allGatherSingle(Tensor output, Tensor input) {
        Operation operation = start(OperationKind.ALL_GATHER, "input", input);
        checks.same(operation, "output", output, input);
        checks.multiple(operation, "output", output.count(), "input", input.count());
        if (!isOwnPart(input, output)) {
            checks.apart(operation, "output", output, "input", input);
        }
        operation.count = input.count();
        output(operation, "output", output);
        return input(operation, "input", input);
    }

    List<Operation> allGatherSingle(List<Tensor> givenOutputs, List<Tensor> givenInputs) {
        List<Tensor> inputs = checks.list("inputs", givenInputs);
        List<Tensor> outputs = checks.list("outputs", givenOutputs, "inputs", inputs);
        List<Tensor> elsewhere = new ArrayList<>();
        for (int i = 0; i < inputs.size(); i++) {
            Tensor input = inputs.get(i);
            checks.multiple(i, "outputs", outputs.get(i).count(), "inputs", input.count());
            if (!isOwnPart(input, outputs.get(i))) {
                elsewhere.add(input);
            }
        }
        checks.distinct(null, outputs, elsewhere, -1);
        if (!isFlattened(inputs)) {
            return together(inputs.size(), i -> allGatherSingle(outputs.get(i), inputs.get(i)));
        }
        Operation operation = start(OperationKind.ALL_GATHER, "inputs.get(0)", inputs.get(0));
        operation.inputCounts = counts(inputs);
        operation.count = sum(operation.inputCounts);
        operation.outputCounts = repeated(operation.inputCounts);
        operation.outputParts = partsOfEachRank(outputs, inputs);
        hold(operation, "outputs", outputs);
        return List.of(inputs(operation, "inputs", inputs));
    }

    Operation gather(List<Tensor> given, Tensor input, int root) {
        Operation operation = start(OperationKind.GATHER, "input", input);
        List<Tensor> outputs = checks.copy("outputs", given);
        checks.root(operation, root);
        operation.count = input.count();
        if (checks.onlyOnRoot(operation, "outputs", outputs, root)) {
            checks.parts(operation, "outputs", outputs, input);
            checks.equalCounts(operation, "outputs", outputs, input.count());
            checks.distinct(operation, outputs, List.of(input), rank);
            outputs(operation, "outputs", outputs);
        }
        return input(operation, "input", input);
    }

    Operation scatter(Tensor output, List<Tensor> given, int root) {
        Operation operation = start(OperationKind.SCATTER, "output", output);
        List<Tensor> inputs = checks.copy("inputs", given);
        checks.root(operation, root);
        operation.count = output.count();
        if (checks.onlyOnRoot(operation, "inputs", inputs, root)) {
            checks.parts(operation, "inputs", inputs, output);
            checks.equalCounts(operation, "inputs", inputs, output.count());
            checks.apartFromOthers(operation, output, inputs);
            inputs(operation, "inputs", inputs);
        }
        return output(operation, "output", output);
    }

    Operation reduceScatter(Tensor output, List<Tensor> given, ReduceOp op) {
        Operation operation = start(OperationKind.REDUCE_SCATTER, "output", output);
        List<Tensor> inputs = checks.copy("inputs", given);
        checks.reduction(operation, op, output);
        checks.parts(operation, "inputs", inputs, output);
        long[] counts = counts(inputs);
        checks.ownPart(operation, "inputs", counts, "output", output);
        if (allEqual(counts) && !has(operation, Feature.SEPARATE_LIST_REDUCTION)) {
            operation.count = output.count();
        } else {
            operation.kind = OperationKind.REDUCE_SCATTER_V;
            operation.inputCounts = counts;
        }
        checks.apartFromOthers(operation, output, inputs);
        inputs(operation, "inputs", inputs);
        output(operation, "output", output);
        if (operation.inputParts == null && output.address() == inputs.get(rank).address()) {
            separateOutput(operation, output);
        }
        return operation;
    }

    Operation reduceScatterSingle(Tensor output, Tensor input, ReduceOp op) {
        Operation operation = start(OperationKind.REDUCE_SCATTER, "output", output);
        checks.reduction(operation, op, output);
        checks.same(operation, "input", input, output);
        checks.multiple(operation, "input", input.count(), "output", output.count());
        operation.count = output.count();
        if (isOwnPart(output, input)) {
            separateOutput(operation, output);
        } else {
            checks.apart(operation, "output", output, "input", input);
        }
        output(operation, "output", output);
        return input(operation, "input", input);
    }

    List<Operation> reduceScatterSingle(
            List<Tensor> givenOutputs, List<Tensor> givenInputs, ReduceOp op) {
        List<Tensor> outputs = checks.list("outputs", givenOutputs);
        List<Tensor> inputs = checks.list("inputs", givenInputs, "outputs", outputs);
        List<Tensor> elsewhere = new ArrayList<>();
        for (int i = 0; i < inputs.size(); i++) {
            Tensor input = inputs.get(i);
            long part = outputs.get(i).count();
            checks.multiple(i, "inputs", input.count(), "outputs", part);
            if (isOwnPart(outputs.get(i), input)) {
                long end = (rank + 1) * part;
                elsewhere.add(input.slice(0, rank * part));
                elsewhere.add(input.slice(end, input.count() - end));
            } else {
                elsewhere.add(input);
            }
        }
        checks.distinct(null, outputs, elsewhere, -1);
        if (!isFlattened(outputs)) {
            return together(
                    outputs.size(), i -> reduceScatterSingle(outputs.get(i), inputs.get(i), op));
        }
        Operation operation = start(OperationKind.REDUCE_SCATTER, "outputs.get(0)", outputs.get(0));
        checks.reduction(operation, op, outputs.get(0));
        operation.outputCounts = counts(outputs);
        operation.count = sum(operation.outputCounts);
        operation.inputCounts = repeated(operation.outputCounts);
        operation.inputParts = partsOfEachRank(inputs, outputs);
        hold(operation, "inputs", inputs);
        return List.of(outputs(operation, "outputs", outputs));
    }

    Operation allToAll(List<Tensor> givenOutputs, List<Tensor> givenInputs) {
        List<Tensor> inputs = checks.copy("inputs", givenInputs);
        checks.length(null, "inputs", inputs);
        Operation operation = start(OperationKind.ALL_TO_ALL, "inputs.get(0)", inputs.get(0));
        List<Tensor> outputs = checks.copy("outputs", givenOutputs);
        checks.parts(operation, "inputs", inputs, inputs.get(0));
        checks.parts(operation, "outputs", outputs, inputs.get(0));
        operation.inputCounts = counts(inputs);
        operation.outputCounts = counts(outputs);
        checks.ownParts(operation);
        boolean inPlace = checks.distinctOrInPlace(operation, outputs, inputs);
        operation.kind = OperationKind.ALL_TO_ALL_V;
        outputs(operation, "outputs", outputs);
        inputs(operation, "inputs", inputs);
        if (inPlace) {
            operation.inputParts = addresses(inputs);
        }
        return operation;
    }

    Operation allToAllSingle(Tensor output, Tensor input) {
        Operation operation = start(OperationKind.ALL_TO_ALL, "input", input);
        checks.same(operation, "output", output, input);
        checks.exchange(operation, output, input);
        operation.count = input.count() / size;
        return exchange(operation, output, input);
    }

    Operation allToAllSingle(Tensor output, Tensor input, long[] outputSplits, long[] inputSplits) {
        Operation operation = start(OperationKind.ALL_TO_ALL_V, "input", input);
        checks.same(operation, "output", output, input);
        operation.inputCounts = checks.splits(operation, "inputSplits", inputSplits, input.count());
        operation.outputCounts =
                checks.splits(operation, "outputSplits", outputSplits, output.count());
        checks.ownParts(operation);
        return exchange(operation, output, input);
    }

    /** If the tensors are the same, the input goes through other memory: few libraries allow it. */
    private Operation exchange(Operation operation, Tensor output, Tensor input) {
        if (output.address() == input.address()) {
            operation.inputParts = partsOf(input, operation.inputCounts, operation.count);
        } else {
            checks.apart(operation, "output", output, "input", input);
        }
        output(operation, "output", output);
        return input(operation, "input", input);
    }

    Operation send(Tensor tensor, int peer, int tag) {
        Operation operation = start(OperationKind.SEND, "tensor", tensor);
        checks.peer(operation, peer, tag);
        operation.count = tensor.count();
        return input(operation, "tensor", tensor);
    }

    Operation recv(Tensor tensor, int peer, int tag) {
        Operation operation = start(OperationKind.RECV, "tensor", tensor);
        checks.peer(operation, peer, tag);
        operation.count = tensor.count();
        return output(operation, "tensor", tensor);
    }

    Operation recvAnySource(Tensor tensor, int tag) {
        Operation operation = start(OperationKind.RECV, "tensor", tensor);
        checks.message(operation, tag);
        if (!has(operation, Feature.ANY_SOURCE)) {
            throw checks.bad(operation, "this backend cannot receive from any peer; name one");
        }
        operation.peer = Communicator.ANY_SOURCE;
        operation.count = tensor.count();
        return output(operation, "tensor", tensor);
    }

    Operation barrier() {
        return start(OperationKind.BARRIER, group.defaultEngine());
    }

    private Operation start(OperationKind kind, Engine engine) {
        Operation operation = empty.apply(engine);
        operation.runner = engine;
        operation.kind = kind;
        operation.timeoutNanos = timeoutNanos;
        return operation;
    }

    /**
     * Starts an operation on the engine of its first tensor, which is the only one checked here.
     */
    private Operation start(OperationKind kind, String name, Tensor tensor) {
        Operation operation = start(kind, engineOf(tensor));
        if (tensor == null) {
            throw checks.bad(operation, name + " is null");
        }
        operation.type = tensor.dataType();
        return operation;
    }

    /**
     * Returns the engine for a call.
     *
     * @param tensor a tensor of the call; the next check rejects null
     */
    Engine engineOf(Tensor tensor) {
        if (tensor == null) {
            return group.defaultEngine();
        }
        checks.requireOwn(null, "tensor", tensor);
        return group.engineOf(tensor.device());
    }

    private static boolean has(Operation operation, Feature feature) {
        return operation.runner.capabilities().has(feature);
    }

    /** Whether a call on several tensors is one operation on all, not one operation on each. */
    private boolean isFlattened(List<Tensor> tensors) {
        return tensors.size() > 1 && engineOf(tensors.get(0)).flattensLists();
    }

    /** Returns one operation for each tensor, to be issued together. */
    private static List<Operation> together(int count, IntFunction<Operation> operation) {
        List<Operation> operations = new ArrayList<>(count);
        try {
            for (int i = 0; i < count; i++) {
                operations.add(operation.apply(i));
            }
            return operations;
        } catch (UsageException e) {
            operations.forEach(Operation::releaseMemory);
            throw e;
        }
    }

    /** Copies the only list of a call, whose tensors are written. */
    private List<Tensor> distinctList(List<Tensor> given) {
        List<Tensor> tensors = checks.list("tensors", given);
        checks.distinct(null, tensors, List.of(), -1);
        return tensors;
    }

    /** Starts an operation on a tensor that is its input and its output. */
    private Operation inPlace(OperationKind kind, Tensor tensor) {
        Operation operation = start(kind, "tensor", tensor);
        operation.count = tensor.count();
        operation.input = tensor.address();
        return output(operation, "tensor", tensor);
    }

    private Operation inPlace(OperationKind kind, List<Tensor> tensors) {
        Operation operation = start(kind, "tensors.get(0)", tensors.get(0));
        operation.outputCounts = counts(tensors);
        operation.count = sum(operation.outputCounts);
        outputs(operation, "tensors", tensors);
        operation.input = operation.output;
        return operation;
    }

    private Operation input(Operation operation, String name, Tensor tensor) {
        operation.input = tensor.address();
        return hold(operation, name, tensor);
    }

    private Operation output(Operation operation, String name, Tensor tensor) {
        operation.output = tensor.address();
        return hold(operation, name, tensor);
    }

    /** Sets the parts of the input. Adjacent tensors are one piece of memory. */
    private Operation inputs(Operation operation, String name, List<Tensor> tensors) {
        if (areAdjacent(tensors)) {
            operation.input = tensors.get(0).address();
        } else {
            operation.inputParts = addresses(tensors);
        }
        return hold(operation, name, tensors);
    }

    /** Sets the parts of the output. Adjacent tensors are one piece of memory. */
    private Operation outputs(Operation operation, String name, List<Tensor> tensors) {
        if (areAdjacent(tensors)) {
            operation.output = tensors.get(0).address();
        } else {
            operation.outputParts = addresses(tensors);
        }
        return hold(operation, name, tensors);
    }

    Operation hold(Operation operation, String name, Tensor tensor) {
        if (!operation.hold(((NativeTensor) tensor).memory())) {
            throw checks.bad(operation, name + " is closed");
        }
        return operation;
    }

    private Operation hold(Operation operation, String name, List<Tensor> tensors) {
        for (int i = 0; i < tensors.size(); i++) {
            if (!operation.hold(((NativeTensor) tensors.get(i)).memory())) {
                throw checks.bad(operation, name + ".get(" + i + ") is closed");
            }
        }
        return operation;
    }

    /** Whether a tensor is this rank's part of another one. */
    private boolean isOwnPart(Tensor part, Tensor whole) {
        return part.address() == whole.address() + rank * part.byteSize();
    }

    /** Has the result go through other memory if the library cannot write to its input. */
    private static void separateOutput(Operation operation, Tensor output) {
        if (has(operation, Feature.SEPARATE_REDUCTION_OUTPUT)) {
            operation.outputParts = new long[] {output.address()};
            operation.outputCounts = new long[] {output.count()};
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

    private static long sum(long[] counts) {
        long sum = 0;
        for (long count : counts) {
            sum += count;
        }
        return sum;
    }

    /** Repeats the counts once for each rank. */
    private long[] repeated(long[] counts) {
        long[] all = new long[counts.length * size];
        for (int i = 0; i < size; i++) {
            System.arraycopy(counts, 0, all, i * counts.length, counts.length);
        }
        return all;
    }

    private static boolean areAdjacent(List<Tensor> tensors) {
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

    /** Returns the addresses of the adjacent parts of a tensor; equal parts have no counts. */
    private long[] partsOf(Tensor tensor, long[] counts, long count) {
        long[] addresses = new long[size];
        long next = tensor.address();
        for (int i = 0; i < size; i++) {
            addresses[i] = next;
            next += (counts == null ? count : counts[i]) * tensor.dataType().size();
        }
        return addresses;
    }

    /**
     * Returns the addresses of the parts of tensors with one part for each rank: those of rank 0 of
     * all tensors, then of rank 1, and so on.
     */
    private long[] partsOfEachRank(List<Tensor> tensors, List<Tensor> parts) {
        long[] addresses = new long[tensors.size() * size];
        int next = 0;
        for (int i = 0; i < size; i++) {
            for (int j = 0; j < tensors.size(); j++) {
                addresses[next++] = tensors.get(j).address() + i * parts.get(j).byteSize();
            }
        }
        return addresses;
    }
}
