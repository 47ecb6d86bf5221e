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
    private final Operations operations;
    private final List<Operation> added = new ArrayList<>();

    /**
     * The tensors of each operation. They are retained when the batch is issued, since it may be
     * dropped instead.
     */
    private final List<Tensor[]> tensors = new ArrayList<>();

    private Engine engine;
    private boolean issued;

    DefaultBatch(Group group) {
        this.group = group;
        this.operations = new Operations(group, this::next, 0);
    }

    @Override
    public Batch send(Tensor tensor, int peer, int tag) {
        return add(operations.send(tensor, peer, tag), tensor);
    }

    @Override
    public Batch recv(Tensor tensor, int peer, int tag) {
        return add(operations.recv(tensor, peer, tag), tensor);
    }

    @Override
    public Batch broadcast(Tensor tensor, int root) {
        return add(operations.broadcast(tensor, root), tensor);
    }

    @Override
    public Batch allReduce(Tensor tensor, ReduceOp op) {
        return add(operations.allReduce(tensor, op), tensor);
    }

    @Override
    public Batch allGatherSingle(Tensor output, Tensor input) {
        return add(operations.allGatherSingle(output, input), output, input);
    }

    @Override
    public Batch reduceScatterSingle(Tensor output, Tensor input, ReduceOp op) {
        return add(operations.reduceScatterSingle(output, input, op), output, input);
    }

    @Override
    public List<Work> issue() {
        if (issued || added.isEmpty()) {
            throw new UsageException(
                    group.context(), issued ? "the batch was issued before" : "the batch is empty");
        }
        holdTensors();
        issued = true;
        return engine.submitBatch(added);
    }

    private Operation next(Engine wanted) {
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
        added.add(operation);
        tensors.add(used);
        return this;
    }

    private void holdTensors() {
        try {
            for (int i = 0; i < added.size(); i++) {
                for (Tensor tensor : tensors.get(i)) {
                    operations.hold(added.get(i), "a tensor of the batch", tensor);
                }
            }
        } catch (UsageException e) {
            added.forEach(Operation::releaseMemory);
            throw e;
        }
    }
}
