package org.jccl.conformance;

import java.util.List;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.SyncCollectives;
import org.jccl.Tensor;

/** The collectives in a form that returns when they are done, asynchronous or synchronous. */
interface Forms {

    void broadcast(Tensor tensor, int root);

    void allReduce(Tensor tensor, ReduceOp op);

    void reduce(Tensor tensor, int root, ReduceOp op);

    void allGather(List<Tensor> outputs, Tensor input);

    void allGatherSingle(Tensor output, Tensor input);

    void gather(List<Tensor> outputs, Tensor input, int root);

    void scatter(Tensor output, List<Tensor> inputs, int root);

    void reduceScatter(Tensor output, List<Tensor> inputs, ReduceOp op);

    void reduceScatterSingle(Tensor output, Tensor input, ReduceOp op);

    void allToAll(List<Tensor> outputs, List<Tensor> inputs);

    void allToAllSingle(Tensor output, Tensor input);

    void allToAllSingle(Tensor output, Tensor input, long[] outputSplits, long[] inputSplits);

    void send(Tensor tensor, int peer, int tag);

    void recv(Tensor tensor, int peer, int tag);

    void barrier();

    static List<Forms> of(ProcessGroup group) {
        return List.of(new Async(group), new Sync(group.sync()));
    }

    /** Issues and awaits. */
    record Async(ProcessGroup group) implements Forms {
        @Override
        public void broadcast(Tensor tensor, int root) {
            group.broadcast(tensor, root).await();
        }

        @Override
        public void allReduce(Tensor tensor, ReduceOp op) {
            group.allReduce(tensor, op).await();
        }

        @Override
        public void reduce(Tensor tensor, int root, ReduceOp op) {
            group.reduce(tensor, root, op).await();
        }

        @Override
        public void allGather(List<Tensor> outputs, Tensor input) {
            group.allGather(outputs, input).await();
        }

        @Override
        public void allGatherSingle(Tensor output, Tensor input) {
            group.allGatherSingle(output, input).await();
        }

        @Override
        public void gather(List<Tensor> outputs, Tensor input, int root) {
            group.gather(outputs, input, root).await();
        }

        @Override
        public void scatter(Tensor output, List<Tensor> inputs, int root) {
            group.scatter(output, inputs, root).await();
        }

        @Override
        public void reduceScatter(Tensor output, List<Tensor> inputs, ReduceOp op) {
            group.reduceScatter(output, inputs, op).await();
        }

        @Override
        public void reduceScatterSingle(Tensor output, Tensor input, ReduceOp op) {
            group.reduceScatterSingle(output, input, op).await();
        }

        @Override
        public void allToAll(List<Tensor> outputs, List<Tensor> inputs) {
            group.allToAll(outputs, inputs).await();
        }

        @Override
        public void allToAllSingle(Tensor output, Tensor input) {
            group.allToAllSingle(output, input).await();
        }

        @Override
        public void allToAllSingle(
                Tensor output, Tensor input, long[] outputSplits, long[] inputSplits) {
            group.allToAllSingle(output, input, outputSplits, inputSplits).await();
        }

        @Override
        public void send(Tensor tensor, int peer, int tag) {
            group.send(tensor, peer, tag).await();
        }

        @Override
        public void recv(Tensor tensor, int peer, int tag) {
            group.recv(tensor, peer, tag).await();
        }

        @Override
        public void barrier() {
            group.barrier().await();
        }

        @Override
        public String toString() {
            return "asynchronous";
        }
    }

    /** Calls on this thread. */
    record Sync(SyncCollectives group) implements Forms {
        @Override
        public void broadcast(Tensor tensor, int root) {
            group.broadcast(tensor, root);
        }

        @Override
        public void allReduce(Tensor tensor, ReduceOp op) {
            group.allReduce(tensor, op);
        }

        @Override
        public void reduce(Tensor tensor, int root, ReduceOp op) {
            group.reduce(tensor, root, op);
        }

        @Override
        public void allGather(List<Tensor> outputs, Tensor input) {
            group.allGather(outputs, input);
        }

        @Override
        public void allGatherSingle(Tensor output, Tensor input) {
            group.allGatherSingle(output, input);
        }

        @Override
        public void gather(List<Tensor> outputs, Tensor input, int root) {
            group.gather(outputs, input, root);
        }

        @Override
        public void scatter(Tensor output, List<Tensor> inputs, int root) {
            group.scatter(output, inputs, root);
        }

        @Override
        public void reduceScatter(Tensor output, List<Tensor> inputs, ReduceOp op) {
            group.reduceScatter(output, inputs, op);
        }

        @Override
        public void reduceScatterSingle(Tensor output, Tensor input, ReduceOp op) {
            group.reduceScatterSingle(output, input, op);
        }

        @Override
        public void allToAll(List<Tensor> outputs, List<Tensor> inputs) {
            group.allToAll(outputs, inputs);
        }

        @Override
        public void allToAllSingle(Tensor output, Tensor input) {
            group.allToAllSingle(output, input);
        }

        @Override
        public void allToAllSingle(
                Tensor output, Tensor input, long[] outputSplits, long[] inputSplits) {
            group.allToAllSingle(output, input, outputSplits, inputSplits);
        }

        @Override
        public void send(Tensor tensor, int peer, int tag) {
            group.send(tensor, peer, tag);
        }

        @Override
        public void recv(Tensor tensor, int peer, int tag) {
            group.recv(tensor, peer, tag);
        }

        @Override
        public void barrier() {
            group.barrier();
        }

        @Override
        public String toString() {
            return "synchronous";
        }
    }
}
