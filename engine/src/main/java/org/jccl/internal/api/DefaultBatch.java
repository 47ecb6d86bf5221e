package org.jccl.internal.api;

import java.util.ArrayList;
import java.util.List;
import org.jccl.Batch;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.jccl.Work;
import org.jccl.internal.engine.Engine;
import org.jccl.internal.group.Group;
import org.jccl.internal.operation.Operation;

/** Collects operations of one engine. */
public final class DefaultBatch implements Batch {

    private final Group group;
    private final Arguments arguments;
    private final List<Operation> operations = new ArrayList<>();

    /**
     * The tensors of each operation. They are retained when the batch is issued, since it may be
     * dropped instead.
     */
    private final List<Tensor[]> tensors = new ArrayList<>();

    private Engine engine;
    private boolean issued;

    DefaultBatch(Group group, Arguments arguments) {
        this.group = group;
        this.arguments = arguments;
    }

    @Override
    public Batch send(Tensor tensor, int peer, int tag) {
        return add(arguments.send(next(tensor), engine, tensor, peer, tag), tensor);
    }

    @Override
    public Batch recv(Tensor tensor, int peer, int tag) {
        return add(arguments.recv(next(tensor), engine, tensor, peer, tag), tensor);
    }

    @Override
    public Batch broadcast(Tensor tensor, int root) {
        return add(arguments.broadcast(next(tensor), tensor, root), tensor);
    }

    @Override
    public Batch allReduce(Tensor tensor, ReduceOp op) {
        return add(arguments.allReduce(next(tensor), engine, tensor, op), tensor);
    }

    @Override
    public Batch allGatherSingle(Tensor output, Tensor input) {
        return add(arguments.allGatherSingle(next(input), output, input), output, input);
    }

    @Override
    public Batch reduceScatterSingle(Tensor output, Tensor input, ReduceOp op) {
        return add(
                arguments.reduceScatterSingle(next(output), engine, output, input, op),
                output,
                input);
    }

    @Override
    public List<Work> issue() {
        if (issued || operations.isEmpty()) {
            throw new UsageException(
                    group.context(), issued ? "the batch was issued before" : "the batch is empty");
        }
        holdTensors();
        issued = true;
        return engine.submitBatch(operations);
    }

    private Operation next(Tensor tensor) {
        Engine wanted = arguments.engineOf(tensor);
        if (issued) {
            throw new UsageException(group.context(), "the batch was issued before");
        }
        if (engine != null && engine != wanted) {
            throw new UsageException(
                    group.context(), "all tensors of a batch must be on one device type");
        }
        engine = wanted;
        return engine.newOperation();
    }

    private Batch add(Operation operation, Tensor... used) {
        operation.releaseMemory();
        operations.add(operation);
        tensors.add(used);
        return this;
    }

    private void holdTensors() {
        try {
            for (int i = 0; i < operations.size(); i++) {
                for (Tensor tensor : tensors.get(i)) {
                    arguments.hold(operations.get(i), tensor, "a tensor of the batch");
                }
            }
        } catch (UsageException e) {
            operations.forEach(Operation::releaseMemory);
            throw e;
        }
    }
}
