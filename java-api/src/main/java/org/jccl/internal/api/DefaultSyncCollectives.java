package org.jccl.internal.api;

import java.util.List;
import org.jccl.ReduceOp;
import org.jccl.SyncCollectives;
import org.jccl.Tensor;
import org.jccl.internal.engine.Engine;
import org.jccl.internal.group.Group;
import org.jccl.internal.operation.Operation;

/** Runs operations in the caller's own order. */
public final class DefaultSyncCollectives implements SyncCollectives {

    private final Group group;
    private final Arguments arguments;

    DefaultSyncCollectives(Group group, Arguments arguments) {
        this.group = group;
        this.arguments = arguments;
    }

    @Override
    public void broadcast(Tensor tensor, int root) {
        Engine engine = arguments.engineOf(tensor);
        Operation operation = engine.borrow();
        arguments.broadcast(operation, tensor, root);
        engine.run(operation);
    }

    @Override
    public void allReduce(Tensor tensor, ReduceOp op) {
        Engine engine = arguments.engineOf(tensor);
        Operation operation = engine.borrow();
        arguments.allReduce(operation, engine, tensor, op);
        engine.run(operation);
    }

    @Override
    public void reduce(Tensor tensor, int root, ReduceOp op) {
        Engine engine = arguments.engineOf(tensor);
        Operation operation = engine.borrow();
        arguments.reduce(operation, engine, tensor, root, op);
        engine.run(operation);
    }

    @Override
    public void allGather(List<Tensor> outputs, Tensor input) {
        Engine engine = arguments.engineOf(input);
        Operation operation = engine.borrow();
        arguments.allGather(operation, engine, outputs, input);
        engine.run(operation);
    }

    @Override
    public void allGatherSingle(Tensor output, Tensor input) {
        Engine engine = arguments.engineOf(input);
        Operation operation = engine.borrow();
        arguments.allGatherSingle(operation, output, input);
        engine.run(operation);
    }

    @Override
    public void gather(List<Tensor> outputs, Tensor input, int root) {
        Engine engine = arguments.engineOf(input);
        Operation operation = engine.borrow();
        arguments.gather(operation, outputs, input, root);
        engine.run(operation);
    }

    @Override
    public void scatter(Tensor output, List<Tensor> inputs, int root) {
        Engine engine = arguments.engineOf(output);
        Operation operation = engine.borrow();
        arguments.scatter(operation, output, inputs, root);
        engine.run(operation);
    }

    @Override
    public void reduceScatter(Tensor output, List<Tensor> inputs, ReduceOp op) {
        Engine engine = arguments.engineOf(output);
        Operation operation = engine.borrow();
        arguments.reduceScatter(operation, engine, output, inputs, op);
        engine.run(operation);
    }

    @Override
    public void reduceScatterSingle(Tensor output, Tensor input, ReduceOp op) {
        Engine engine = arguments.engineOf(output);
        Operation operation = engine.borrow();
        arguments.reduceScatterSingle(operation, engine, output, input, op);
        engine.run(operation);
    }

    @Override
    public void allToAll(List<Tensor> outputs, List<Tensor> inputs) {
        List<Tensor> given = arguments.allToAllInputs(inputs);
        Engine engine = arguments.engineOf(given.get(0));
        Operation operation = engine.borrow();
        arguments.allToAll(operation, outputs, given);
        engine.run(operation);
    }

    @Override
    public void allToAllSingle(Tensor output, Tensor input) {
        Engine engine = arguments.engineOf(input);
        Operation operation = engine.borrow();
        arguments.allToAllSingle(operation, output, input);
        engine.run(operation);
    }

    @Override
    public void allToAllSingle(
            Tensor output, Tensor input, long[] outputSplits, long[] inputSplits) {
        Engine engine = arguments.engineOf(input);
        Operation operation = engine.borrow();
        arguments.allToAllSingle(operation, output, input, outputSplits, inputSplits);
        engine.run(operation);
    }

    @Override
    public void send(Tensor tensor, int peer) {
        send(tensor, peer, 0);
    }

    @Override
    public void send(Tensor tensor, int peer, int tag) {
        Engine engine = arguments.engineOf(tensor);
        Operation operation = engine.borrow();
        arguments.send(operation, engine, tensor, peer, tag);
        engine.run(operation);
    }

    @Override
    public void recv(Tensor tensor, int peer) {
        recv(tensor, peer, 0);
    }

    @Override
    public void recv(Tensor tensor, int peer, int tag) {
        Engine engine = arguments.engineOf(tensor);
        Operation operation = engine.borrow();
        arguments.recv(operation, engine, tensor, peer, tag);
        engine.run(operation);
    }

    @Override
    public int recvAnySource(Tensor tensor) {
        return recvAnySource(tensor, 0);
    }

    @Override
    public int recvAnySource(Tensor tensor, int tag) {
        Engine engine = arguments.engineOf(tensor);
        Operation operation = engine.borrow();
        arguments.recvAnySource(operation, engine, tensor, tag);
        return engine.run(operation);
    }

    @Override
    public void barrier() {
        Engine engine = group.defaultEngine();
        Operation operation = engine.borrow();
        arguments.barrier(operation);
        engine.run(operation);
    }
}
