package org.jccl.internal.api;

import java.util.ArrayList;
import java.util.List;
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
 * Checks the arguments of each operation and fills in the operation that the engine runs.
 * Everything that one rank can know is checked here, before native code sees it.
 */
final class Arguments {

    private final Group group;
    private final int rank;
    private final int size;
    private final ArgumentChecks checks;

    /** Creates the checks of a group. */
    Arguments(Group group) {
        this.group = group;
        this.rank = group.context().rank();
        this.size = group.size();
        this.checks = new ArgumentChecks(group.context(), size);
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

    Operation broadcast(Operation operation, Tensor tensor, int root) {
        start(operation, OperationKind.BROADCAST, tensor, "tensor");
        operation.peer = checks.rankArgument(operation, "root", root);
        operation.output = tensor.address();
        operation.count = tensor.count();
        return hold(operation, tensor, "tensor");
    }

    Operation allReduce(Operation operation, Engine engine, Tensor tensor, ReduceOp op) {
        start(operation, OperationKind.ALL_REDUCE, tensor, "tensor");
        checks.reduction(operation, engine, op, tensor.device());
        operation.input = tensor.address();
        operation.output = tensor.address();
        operation.count = tensor.count();
        return hold(operation, tensor, "tensor");
    }

    /**
     * Copies a list of one or more tensors of one type on one device. It is copied before the
     * engine is known, since its first tensor determines the engine.
     */
    List<Tensor> list(String name, List<Tensor> given) {
        List<Tensor> tensors = checks.copy(name, given);
        checks.alike(name, tensors);
        return tensors;
    }

    /** Same as {@link #list(String, List)}, for tensors that are written. */
    List<Tensor> distinctList(String name, List<Tensor> given) {
        List<Tensor> tensors = list(name, given);
        checks.distinct(null, tensors, List.of(), -1);
        return tensors;
    }

    /** Copies a list that corresponds to another one, tensor by tensor. */
    List<Tensor> list(String name, List<Tensor> given, String otherName, List<Tensor> other) {
        List<Tensor> tensors = checks.copy(name, given);
        checks.pairs(name, tensors, otherName, other);
        return tensors;
    }

    void allGatherLists(List<Tensor> outputs, List<Tensor> inputs) {
        List<Tensor> elsewhere = new ArrayList<>();
        for (int i = 0; i < inputs.size(); i++) {
            Tensor input = inputs.get(i);
            Tensor output = outputs.get(i);
            String which = ".get(" + i + ")";
            checks.multiple(
                    null, "outputs" + which, output.count(), "inputs" + which, input.count());
            if (input.address() != output.address() + rank * input.byteSize()) {
                elsewhere.add(input);
            }
        }
        checks.distinct(null, outputs, elsewhere, -1);
    }

    void reduceScatterLists(List<Tensor> outputs, List<Tensor> inputs) {
        List<Tensor> elsewhere = new ArrayList<>();
        for (int i = 0; i < inputs.size(); i++) {
            Tensor input = inputs.get(i);
            Tensor output = outputs.get(i);
            String which = ".get(" + i + ")";
            checks.multiple(
                    null, "inputs" + which, input.count(), "outputs" + which, output.count());
            if (isOwnPart(output, input)) {
                long before = rank * output.count();
                long end = before + output.count();
                elsewhere.add(input.slice(0, before));
                elsewhere.add(input.slice(end, input.count() - end));
            } else {
                elsewhere.add(input);
            }
        }
        checks.distinct(null, outputs, elsewhere, -1);
    }

    Operation broadcast(Operation operation, List<Tensor> tensors, int root) {
        start(operation, OperationKind.BROADCAST, tensors.get(0), "tensors.get(0)");
        operation.peer = checks.rankArgument(operation, "root", root);
        return inPlace(operation, tensors);
    }

    Operation allReduce(Operation operation, Engine engine, List<Tensor> tensors, ReduceOp op) {
        start(operation, OperationKind.ALL_REDUCE, tensors.get(0), "tensors.get(0)");
        checks.reduction(operation, engine, op, tensors.get(0).device());
        inPlace(operation, tensors);
        operation.input = operation.output;
        return operation;
    }

    private Operation inPlace(Operation operation, List<Tensor> tensors) {
        operation.outputCounts = TensorLists.counts(tensors);
        operation.count = TensorLists.sum(operation.outputCounts);
        TensorLists.outputParts(operation, tensors);
        return holdAll(operation, "tensors", tensors);
    }

    Operation allGatherSingle(Operation operation, List<Tensor> outputs, List<Tensor> inputs) {
        start(operation, OperationKind.ALL_GATHER, inputs.get(0), "inputs.get(0)");
        operation.inputCounts = TensorLists.counts(inputs);
        operation.count = TensorLists.sum(operation.inputCounts);
        TensorLists.inputParts(operation, inputs);
        if (outputs.size() == 1) {
            operation.output = outputs.get(0).address();
        } else {
            operation.outputCounts = TensorLists.repeated(operation.inputCounts, size);
            operation.outputParts = TensorLists.ofEachRank(outputs, inputs, size);
        }
        holdAll(operation, "outputs", outputs);
        return holdAll(operation, "inputs", inputs);
    }

    Operation reduceScatterSingle(
            Operation operation,
            Engine engine,
            List<Tensor> outputs,
            List<Tensor> inputs,
            ReduceOp op) {
        start(operation, OperationKind.REDUCE_SCATTER, outputs.get(0), "outputs.get(0)");
        checks.reduction(operation, engine, op, outputs.get(0).device());
        operation.outputCounts = TensorLists.counts(outputs);
        operation.count = TensorLists.sum(operation.outputCounts);
        TensorLists.outputParts(operation, outputs);
        if (inputs.size() == 1) {
            operation.input = inputs.get(0).address();
            separateOwnPart(operation, engine, outputs.get(0), inputs.get(0));
        } else {
            operation.inputCounts = TensorLists.repeated(operation.outputCounts, size);
            operation.inputParts = TensorLists.ofEachRank(inputs, outputs, size);
        }
        holdAll(operation, "outputs", outputs);
        return holdAll(operation, "inputs", inputs);
    }

    Operation reduce(Operation operation, Engine engine, Tensor tensor, int root, ReduceOp op) {
        start(operation, OperationKind.REDUCE, tensor, "tensor");
        checks.reduction(operation, engine, op, tensor.device());
        operation.peer = checks.rankArgument(operation, "root", root);
        operation.input = tensor.address();
        operation.output = tensor.address();
        operation.count = tensor.count();
        return hold(operation, tensor, "tensor");
    }

    Operation allGather(Operation operation, Engine engine, List<Tensor> given, Tensor input) {
        start(operation, OperationKind.ALL_GATHER, input, "input");
        List<Tensor> outputs = checks.copy("outputs", given);
        checks.parts(operation, "outputs", outputs, input);
        long[] counts = TensorLists.counts(outputs);
        if (counts[rank] != input.count()) {
            throw checks.bad(
                    operation,
                    "outputs.get(%s) has %s elements, input has %s; this rank's output must be as large as its input"
                            .formatted(rank, counts[rank], input.count()));
        }
        if (TensorLists.allEqual(counts)
                && !engine.capabilities().has(Feature.SEPARATE_LIST_GATHERING)) {
            operation.count = input.count();
        } else {
            operation.kind = OperationKind.ALL_GATHER_V;
            operation.outputCounts = counts;
        }
        operation.input = input.address();
        TensorLists.outputParts(operation, outputs);
        checks.distinct(operation, outputs, List.of(input), rank);
        hold(operation, input, "input");
        return holdAll(operation, "outputs", outputs);
    }

    Operation allGatherSingle(Operation operation, Tensor output, Tensor input) {
        start(operation, OperationKind.ALL_GATHER, input, "input");
        checks.same(operation, "output", output, input);
        checks.multiple(operation, "output", output.count(), "input", input.count());
        operation.count = input.count();
        operation.input = input.address();
        operation.output = output.address();
        long own = output.address() + rank * input.byteSize();
        if (input.address() != own) {
            checks.apart(operation, "output", output, "input", input);
        }
        hold(operation, output, "output");
        return hold(operation, input, "input");
    }

    Operation gather(Operation operation, List<Tensor> given, Tensor input, int root) {
        start(operation, OperationKind.GATHER, input, "input");
        List<Tensor> outputs = checks.copy("outputs", given);
        operation.peer = checks.rankArgument(operation, "root", root);
        operation.count = input.count();
        operation.input = input.address();
        if (checks.onlyOnRoot(operation, "outputs", outputs, root)) {
            checks.parts(operation, "outputs", outputs, input);
            checks.equalCounts(operation, "outputs", outputs, input.count());
            TensorLists.outputParts(operation, outputs);
            checks.distinct(operation, outputs, List.of(input), rank);
            holdAll(operation, "outputs", outputs);
        }
        return hold(operation, input, "input");
    }

    Operation scatter(Operation operation, Tensor output, List<Tensor> given, int root) {
        start(operation, OperationKind.SCATTER, output, "output");
        List<Tensor> inputs = checks.copy("inputs", given);
        operation.peer = checks.rankArgument(operation, "root", root);
        operation.count = output.count();
        operation.output = output.address();
        if (checks.onlyOnRoot(operation, "inputs", inputs, root)) {
            checks.parts(operation, "inputs", inputs, output);
            checks.equalCounts(operation, "inputs", inputs, output.count());
            TensorLists.inputParts(operation, inputs);
            checks.apartFromOthers(operation, output, inputs);
            holdAll(operation, "inputs", inputs);
        }
        return hold(operation, output, "output");
    }

    Operation reduceScatter(
            Operation operation, Engine engine, Tensor output, List<Tensor> given, ReduceOp op) {
        start(operation, OperationKind.REDUCE_SCATTER, output, "output");
        List<Tensor> inputs = checks.copy("inputs", given);
        checks.reduction(operation, engine, op, output.device());
        checks.parts(operation, "inputs", inputs, output);
        long[] counts = TensorLists.counts(inputs);
        if (counts[rank] != output.count()) {
            throw checks.bad(
                    operation,
                    "inputs.get(%s) has %s elements, output has %s; this rank's input must be as large as its output"
                            .formatted(rank, counts[rank], output.count()));
        }
        if (TensorLists.allEqual(counts)
                && !engine.capabilities().has(Feature.SEPARATE_LIST_REDUCTION)) {
            operation.count = output.count();
        } else {
            operation.kind = OperationKind.REDUCE_SCATTER_V;
            operation.inputCounts = counts;
        }
        operation.output = output.address();
        TensorLists.inputParts(operation, inputs);
        checks.apartFromOthers(operation, output, inputs);
        if (operation.inputParts == null && output.address() == inputs.get(rank).address()) {
            separateOutput(operation, engine, output);
        }
        hold(operation, output, "output");
        return holdAll(operation, "inputs", inputs);
    }

    Operation reduceScatterSingle(
            Operation operation, Engine engine, Tensor output, Tensor input, ReduceOp op) {
        start(operation, OperationKind.REDUCE_SCATTER, output, "output");
        checks.reduction(operation, engine, op, output.device());
        checks.same(operation, "input", input, output);
        checks.multiple(operation, "input", input.count(), "output", output.count());
        operation.count = output.count();
        operation.input = input.address();
        operation.output = output.address();
        if (!isOwnPart(output, input)) {
            checks.apart(operation, "output", output, "input", input);
        }
        separateOwnPart(operation, engine, output, input);
        hold(operation, output, "output");
        return hold(operation, input, "input");
    }

    private boolean isOwnPart(Tensor output, Tensor input) {
        return output.address() == input.address() + rank * output.byteSize();
    }

    private void separateOwnPart(Operation operation, Engine engine, Tensor output, Tensor input) {
        if (isOwnPart(output, input)) {
            separateOutput(operation, engine, output);
        }
    }

    /** Has the result go through other memory if the library cannot write to its input. */
    private static void separateOutput(Operation operation, Engine engine, Tensor output) {
        if (engine.capabilities().has(Feature.SEPARATE_REDUCTION_OUTPUT)) {
            operation.outputParts = new long[] {output.address()};
            operation.outputCounts = new long[] {output.count()};
        }
    }

    /** Copies the inputs of {@link #allToAll}; the first one determines the engine. */
    List<Tensor> allToAllInputs(List<Tensor> given) {
        List<Tensor> inputs = checks.copy("inputs", given);
        checks.length(null, "inputs", inputs);
        return inputs;
    }

    Operation allToAll(Operation operation, List<Tensor> given, List<Tensor> inputs) {
        start(operation, OperationKind.ALL_TO_ALL, inputs.get(0), "inputs.get(0)");
        List<Tensor> outputs = checks.copy("outputs", given);
        checks.parts(operation, "inputs", inputs, inputs.get(0));
        checks.parts(operation, "outputs", outputs, inputs.get(0));
        long[] inputCounts = TensorLists.counts(inputs);
        long[] outputCounts = TensorLists.counts(outputs);
        checks.ownParts(operation, outputCounts, inputCounts);
        operation.kind = OperationKind.ALL_TO_ALL_V;
        operation.inputCounts = inputCounts;
        operation.outputCounts = outputCounts;
        TensorLists.outputParts(operation, outputs);
        if (checks.distinctOrInPlace(operation, outputs, inputs)) {
            operation.inputParts = TensorLists.addresses(inputs);
        } else {
            TensorLists.inputParts(operation, inputs);
        }
        holdAll(operation, "inputs", inputs);
        return holdAll(operation, "outputs", outputs);
    }

    Operation allToAllSingle(Operation operation, Tensor output, Tensor input) {
        start(operation, OperationKind.ALL_TO_ALL, input, "input");
        checks.same(operation, "output", output, input);
        if (input.count() % size != 0) {
            throw checks.bad(
                    operation,
                    "input has %s elements, which is not a multiple of the world size %s; pass splits"
                            .formatted(input.count(), size));
        }
        if (output.count() != input.count()) {
            throw checks.bad(
                    operation,
                    "output has " + output.count() + " elements, input has " + input.count());
        }
        operation.count = input.count() / size;
        operation.output = output.address();
        exchangedInput(operation, output, input);
        hold(operation, output, "output");
        return hold(operation, input, "input");
    }

    Operation allToAllSingle(
            Operation operation,
            Tensor output,
            Tensor input,
            long[] outputSplits,
            long[] inputSplits) {
        start(operation, OperationKind.ALL_TO_ALL_V, input, "input");
        checks.same(operation, "output", output, input);
        operation.inputCounts = checks.splits(operation, "inputSplits", inputSplits, input.count());
        operation.outputCounts =
                checks.splits(operation, "outputSplits", outputSplits, output.count());
        checks.ownParts(operation, operation.outputCounts, operation.inputCounts);
        operation.output = output.address();
        exchangedInput(operation, output, input);
        hold(operation, output, "output");
        return hold(operation, input, "input");
    }

    /**
     * Sets the input of an all-to-all. If it is also the output, it goes through other memory: few
     * libraries exchange in place.
     */
    private void exchangedInput(Operation operation, Tensor output, Tensor input) {
        if (output.address() == input.address()) {
            operation.inputParts =
                    TensorLists.parts(input, operation.inputCounts, operation.count, size);
        } else {
            operation.input = input.address();
            checks.apart(operation, "output", output, "input", input);
        }
    }

    Operation send(Operation operation, Engine engine, Tensor tensor, int peer, int tag) {
        start(operation, OperationKind.SEND, tensor, "tensor");
        checks.peer(operation, engine, peer, tag);
        operation.input = tensor.address();
        operation.count = tensor.count();
        return hold(operation, tensor, "tensor");
    }

    Operation recv(Operation operation, Engine engine, Tensor tensor, int peer, int tag) {
        start(operation, OperationKind.RECV, tensor, "tensor");
        checks.peer(operation, engine, peer, tag);
        operation.output = tensor.address();
        operation.count = tensor.count();
        return hold(operation, tensor, "tensor");
    }

    Operation recvAnySource(Operation operation, Engine engine, Tensor tensor, int tag) {
        start(operation, OperationKind.RECV, tensor, "tensor");
        checks.message(operation, engine, tag);
        if (!engine.capabilities().has(Feature.ANY_SOURCE)) {
            throw checks.bad(operation, "this backend receives only from a peer that is named");
        }
        operation.peer = Communicator.ANY_SOURCE;
        operation.output = tensor.address();
        operation.count = tensor.count();
        return hold(operation, tensor, "tensor");
    }

    Operation barrier(Operation operation) {
        operation.kind = OperationKind.BARRIER;
        return operation;
    }

    private void start(Operation operation, OperationKind kind, Tensor tensor, String name) {
        operation.kind = kind;
        if (tensor == null) {
            throw checks.bad(operation, name + " is null");
        }
        operation.type = tensor.dataType();
    }

    Operation hold(Operation operation, Tensor tensor, String name) {
        if (!operation.hold(((NativeTensor) tensor).memory())) {
            throw closed(operation, name);
        }
        return operation;
    }

    private Operation holdAll(Operation operation, String name, List<Tensor> tensors) {
        for (int i = 0; i < tensors.size(); i++) {
            if (!operation.hold(((NativeTensor) tensors.get(i)).memory())) {
                throw closed(operation, name + ".get(" + i + ")");
            }
        }
        return operation;
    }

    private UsageException closed(Operation operation, String name) {
        operation.releaseMemory();
        return checks.bad(operation, name + " is closed");
    }
}
