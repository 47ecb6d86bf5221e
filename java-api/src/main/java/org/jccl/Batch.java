package org.jccl;

import java.util.ArrayList;
import java.util.List;
import org.jccl.internal.Engine;
import org.jccl.internal.Group;
import org.jccl.internal.Operation;

/**
 * Operations that are issued together, as PyTorch's {@code batch_isend_irecv} and coalescing: with
 * libraries that know groups of calls they become one, so that for instance sends and receives in
 * both directions can not block each other. Arguments and their checks are those of {@link
 * ProcessGroup}.
 *
 * <p>Not safe for use by several threads. A batch is issued once.
 */
public final class Batch {

    private final Group group;
    private final Arguments arguments;
    private final List<Operation> operations = new ArrayList<>();

    /** Of each operation. They are held from issuing on: a batch may be dropped instead. */
    private final List<Tensor[]> tensors = new ArrayList<>();

    private Engine engine;
    private boolean issued;

    Batch(Group group, Arguments arguments) {
        this.group = group;
        this.arguments = arguments;
    }

    /**
     * Adds a send.
     *
     * @param tensor elements to send
     * @param peer another rank
     * @param tag not negative
     * @return this batch
     */
    public Batch send(Tensor tensor, int peer, int tag) {
        Operation operation = next(tensor);
        arguments.send(operation, engine, tensor, peer, tag);
        return add(operation, tensor);
    }

    /**
     * Adds a receive.
     *
     * @param tensor where to
     * @param peer another rank
     * @param tag not negative
     * @return this batch
     */
    public Batch recv(Tensor tensor, int peer, int tag) {
        Operation operation = next(tensor);
        arguments.recv(operation, engine, tensor, peer, tag);
        return add(operation, tensor);
    }

    /**
     * Adds a broadcast.
     *
     * @param tensor in on the root, out elsewhere
     * @param root rank that sends
     * @return this batch
     */
    public Batch broadcast(Tensor tensor, int root) {
        Operation operation = next(tensor);
        arguments.broadcast(operation, tensor, root);
        return add(operation, tensor);
    }

    /**
     * Adds a reduction to all.
     *
     * @param tensor in and out
     * @param op how to combine
     * @return this batch
     */
    public Batch allReduce(Tensor tensor, ReduceOp op) {
        Operation operation = next(tensor);
        arguments.allReduce(operation, engine, tensor, op);
        return add(operation, tensor);
    }

    /**
     * Adds a gather to all.
     *
     * @param output world size times the input's count
     * @param input this rank's elements
     * @return this batch
     */
    public Batch allGatherSingle(Tensor output, Tensor input) {
        Operation operation = next(input);
        arguments.allGatherSingle(operation, output, input);
        return add(operation, output, input);
    }

    /**
     * Adds a reduce-scatter.
     *
     * @param output this rank's part
     * @param input world size times the output's count
     * @param op how to combine
     * @return this batch
     */
    public Batch reduceScatterSingle(Tensor output, Tensor input, ReduceOp op) {
        Operation operation = next(output);
        arguments.reduceScatterSingle(operation, engine, output, input, op);
        return add(operation, output, input);
    }

    /**
     * Issues what was added, in that order.
     *
     * @return one work an operation, in the same order
     * @throws UsageException when the batch is empty or was issued before, or a tensor was closed
     *     since it was added
     */
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
        Engine wanted = group.engineOf(tensor);
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
