package org.jccl.internal.api;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.ObjIntConsumer;
import org.jccl.BackendOptions;
import org.jccl.Batch;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.JcclException;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.SyncCollectives;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.jccl.Work;
import org.jccl.internal.checks.Lists;
import org.jccl.internal.checks.Require;
import org.jccl.internal.engine.Engine;
import org.jccl.internal.engine.Timeouts;
import org.jccl.internal.group.Group;
import org.jccl.internal.memory.Leaks;
import org.jccl.internal.memory.Memory;
import org.jccl.internal.tensor.NativeTensor;

/** A process group over a {@link Group}: checks arguments, and issues operations on its engines. */
public final class DefaultProcessGroup implements ProcessGroup {

    private final Group group;
    private final Arguments arguments;
    private final SyncCollectives sync;

    /** Wraps a connected group, which it closes. */
    public DefaultProcessGroup(Group group) {
        this.group = group;
        this.arguments = new Arguments(group);
        this.sync = new DefaultSyncCollectives(group, arguments, 0);
        Leaks.GROUPS.watch(this, group::isClosed, toString());
    }

    @Override
    public int rank() {
        return group.context().rank();
    }

    @Override
    public int size() {
        return group.size();
    }

    @Override
    public String name() {
        return group.context().group();
    }

    @Override
    public List<Integer> worldRanks() {
        return group.worldRanks();
    }

    @Override
    public Optional<String> backend(String deviceType) {
        return group.backend(deviceType);
    }

    @Override
    public List<Device> devices() {
        return group.devices();
    }

    @Override
    public SyncCollectives sync() {
        return sync;
    }

    @Override
    public SyncCollectives sync(Duration timeout) {
        long nanos = Timeouts.ofOperation(timeout, group.context());
        return new DefaultSyncCollectives(group, arguments, nanos);
    }

    @Override
    public Work broadcast(Tensor tensor, int root) {
        Engine engine = arguments.engineOf(tensor);
        return engine.submit(arguments.broadcast(engine.newOperation(), tensor, root));
    }

    @Override
    public Work broadcast(List<Tensor> tensors, int root) {
        List<Tensor> given = arguments.distinctList("tensors", tensors);
        Engine engine = arguments.engineOf(given.get(0));
        if (!engine.flattensLists()) {
            return together(given, (batch, i) -> batch.broadcast(given.get(i), root));
        }
        return engine.submit(arguments.broadcast(engine.newOperation(), given, root));
    }

    @Override
    public Work allReduce(Tensor tensor, ReduceOp op) {
        Engine engine = arguments.engineOf(tensor);
        return engine.submit(arguments.allReduce(engine.newOperation(), engine, tensor, op));
    }

    @Override
    public Work allReduce(List<Tensor> tensors, ReduceOp op) {
        List<Tensor> given = arguments.distinctList("tensors", tensors);
        Engine engine = arguments.engineOf(given.get(0));
        if (!engine.flattensLists()) {
            return together(given, (batch, i) -> batch.allReduce(given.get(i), op));
        }
        return engine.submit(arguments.allReduce(engine.newOperation(), engine, given, op));
    }

    @Override
    public Work reduce(Tensor tensor, int root, ReduceOp op) {
        Engine engine = arguments.engineOf(tensor);
        return engine.submit(arguments.reduce(engine.newOperation(), engine, tensor, root, op));
    }

    @Override
    public Work allGather(List<Tensor> outputs, Tensor input) {
        Engine engine = arguments.engineOf(input);
        return engine.submit(arguments.allGather(engine.newOperation(), engine, outputs, input));
    }

    @Override
    public Work allGatherSingle(Tensor output, Tensor input) {
        Engine engine = arguments.engineOf(input);
        return engine.submit(arguments.allGatherSingle(engine.newOperation(), output, input));
    }

    @Override
    public Work allGatherSingle(List<Tensor> outputs, List<Tensor> inputs) {
        List<Tensor> from = arguments.list("inputs", inputs);
        List<Tensor> to = arguments.list("outputs", outputs, "inputs", from);
        arguments.allGatherLists(to, from);
        Engine engine = arguments.engineOf(from.get(0));
        if (!engine.flattensLists()) {
            return together(from, (batch, i) -> batch.allGatherSingle(to.get(i), from.get(i)));
        }
        return engine.submit(arguments.allGatherSingle(engine.newOperation(), to, from));
    }

    @Override
    public Work gather(List<Tensor> outputs, Tensor input, int root) {
        Engine engine = arguments.engineOf(input);
        return engine.submit(arguments.gather(engine.newOperation(), outputs, input, root));
    }

    @Override
    public Work scatter(Tensor output, List<Tensor> inputs, int root) {
        Engine engine = arguments.engineOf(output);
        return engine.submit(arguments.scatter(engine.newOperation(), output, inputs, root));
    }

    @Override
    public Work reduceScatter(Tensor output, List<Tensor> inputs, ReduceOp op) {
        Engine engine = arguments.engineOf(output);
        return engine.submit(
                arguments.reduceScatter(engine.newOperation(), engine, output, inputs, op));
    }

    @Override
    public Work reduceScatterSingle(Tensor output, Tensor input, ReduceOp op) {
        Engine engine = arguments.engineOf(output);
        return engine.submit(
                arguments.reduceScatterSingle(engine.newOperation(), engine, output, input, op));
    }

    @Override
    public Work reduceScatterSingle(List<Tensor> outputs, List<Tensor> inputs, ReduceOp op) {
        List<Tensor> to = arguments.list("outputs", outputs);
        List<Tensor> from = arguments.list("inputs", inputs, "outputs", to);
        arguments.reduceScatterLists(to, from);
        Engine engine = arguments.engineOf(to.get(0));
        if (!engine.flattensLists()) {
            return together(
                    to, (batch, i) -> batch.reduceScatterSingle(to.get(i), from.get(i), op));
        }
        return engine.submit(
                arguments.reduceScatterSingle(engine.newOperation(), engine, to, from, op));
    }

    /**
     * Issues one operation for each tensor as one group of calls. They end in order on the stream
     * of the group, and a failure ends the group, so the last work stands for all.
     */
    private Work together(List<Tensor> tensors, ObjIntConsumer<Batch> add) {
        Batch batch = batch();
        for (int i = 0; i < tensors.size(); i++) {
            add.accept(batch, i);
        }
        List<Work> works = batch.issue();
        return works.get(works.size() - 1);
    }

    @Override
    public Work allToAll(List<Tensor> outputs, List<Tensor> inputs) {
        List<Tensor> given = arguments.allToAllInputs(inputs);
        Engine engine = arguments.engineOf(given.get(0));
        return engine.submit(arguments.allToAll(engine.newOperation(), outputs, given));
    }

    @Override
    public Work allToAllSingle(Tensor output, Tensor input) {
        Engine engine = arguments.engineOf(input);
        return engine.submit(arguments.allToAllSingle(engine.newOperation(), output, input));
    }

    @Override
    public Work allToAllSingle(
            Tensor output, Tensor input, long[] outputSplits, long[] inputSplits) {
        Engine engine = arguments.engineOf(input);
        return engine.submit(
                arguments.allToAllSingle(
                        engine.newOperation(), output, input, outputSplits, inputSplits));
    }

    @Override
    public Work send(Tensor tensor, int peer, int tag) {
        Engine engine = arguments.engineOf(tensor);
        return engine.submit(arguments.send(engine.newOperation(), engine, tensor, peer, tag));
    }

    @Override
    public Work recv(Tensor tensor, int peer, int tag) {
        Engine engine = arguments.engineOf(tensor);
        return engine.submit(arguments.recv(engine.newOperation(), engine, tensor, peer, tag));
    }

    @Override
    public Work recvAnySource(Tensor tensor, int tag) {
        Engine engine = arguments.engineOf(tensor);
        return engine.submit(arguments.recvAnySource(engine.newOperation(), engine, tensor, tag));
    }

    @Override
    public Work barrier() {
        Engine engine = group.defaultEngine();
        return engine.submit(arguments.barrier(engine.newOperation()));
    }

    @Override
    public void monitoredBarrier(Duration timeout, boolean waitAllRanks) {
        group.monitoredBarrier(timeout, waitAllRanks);
    }

    @Override
    public void register(Tensor tensor) {
        Require.nonNull(tensor, "tensor");
        Engine engine = arguments.engineOf(tensor);
        Memory memory = ((NativeTensor) tensor).memory();
        if (!memory.acquire()) {
            throw new UsageException(group.context(), "register: " + tensor + " is closed");
        }
        try {
            engine.inside(
                    communicator -> {
                        communicator.register(
                                tensor.address(), tensor.count() * tensor.dataType().size());
                        return null;
                    });
        } catch (JcclException e) {
            throw e.at(group.context());
        } finally {
            memory.release();
        }
    }

    @Override
    public Tensor allocate(Device device, DataType dataType, long count) {
        Require.nonNull(device, "device");
        Require.nonNull(dataType, "dataType");
        Engine engine = group.engineOf(device);
        if (count > 0) {
            try {
                Optional<Tensor> own =
                        engine.inside(
                                communicator -> communicator.allocate(device, dataType, count));
                if (own.isPresent()) {
                    return own.get();
                }
            } catch (JcclException e) {
                throw e.at(group.context());
            }
        }
        return Tensor.allocate(device, dataType, count);
    }

    @Override
    public Batch batch() {
        return new DefaultBatch(group, arguments);
    }

    @Override
    public Optional<ProcessGroup> newGroup(List<Integer> ranks) {
        return newGroup(ranks, Optional.empty());
    }

    @Override
    public Optional<ProcessGroup> newGroup(List<Integer> ranks, BackendOptions options) {
        return newGroup(ranks, Optional.of(Require.nonNull(options, "options")));
    }

    private Optional<ProcessGroup> newGroup(List<Integer> ranks, Optional<BackendOptions> options) {
        List<Integer> members = Lists.copy(ranks, new Integer[0], group.context(), "ranks");
        return group.newGroup(members, options).map(DefaultProcessGroup::new);
    }

    @Override
    public Optional<ProcessGroup> split(int color, int key) {
        return group.split(color, key, Optional.empty()).map(DefaultProcessGroup::new);
    }

    @Override
    public Optional<ProcessGroup> split(int color, int key, BackendOptions options) {
        Optional<BackendOptions> given = Optional.of(Require.nonNull(options, "options"));
        return group.split(color, key, given).map(DefaultProcessGroup::new);
    }

    @Override
    public ProcessGroup shrink(Duration gracePeriod) {
        return new DefaultProcessGroup(group.shrink(gracePeriod));
    }

    @Override
    public ProcessGroup reconfigure(Duration patience) {
        return new DefaultProcessGroup(group.reconfigure(patience));
    }

    @Override
    public int generation() {
        return group.generation();
    }

    @Override
    public boolean hasNewcomers() {
        return group.hasNewcomers();
    }

    @Override
    public void abort() {
        group.abort();
    }

    @Override
    public void close() {
        group.close();
    }

    @Override
    public String toString() {
        return "group '" + name() + "', rank " + rank() + " of " + size();
    }
}
