package org.jccl.benchmarks;

import java.time.Duration;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.SyncCollectives;
import org.jccl.Tensor;
import org.jccl.gloo.GlooOptions;

/** The synchronous calls of a group. */
final class JcclPeer implements Peer {

    static final String POLLING_GLOO = "gloo-polling";

    private static final Duration POLLING = Duration.ofNanos(50_000);

    private final String name;
    private final ProcessGroup group;
    private final SyncCollectives sync;
    private int root;

    /** Makes the world of a backend, or of Gloo with busy polling. */
    JcclPeer(String name) {
        this.name = name;
        this.group =
                name.equals(POLLING_GLOO)
                        ? ProcessGroup.builder()
                                .backend("gloo")
                                .options(GlooOptions.defaults().withBusyPolling(POLLING))
                                .build()
                        : ProcessGroup.init(name);
        this.sync = group.sync();
    }

    @Override
    public int rank() {
        return group.rank();
    }

    @Override
    public int size() {
        return group.size();
    }

    @Override
    public String version() {
        return "JCCL on " + name + ", Java " + Runtime.version();
    }

    @Override
    public Call prepare(String operation, int input, int output) {
        Tensor in = Tensor.allocate(Device.CPU, DataType.FLOAT32, input);
        Tensor out = Tensor.allocate(Device.CPU, DataType.FLOAT32, output);
        Runnable call = call(operation, in, out);
        root = 0;
        return call == null ? null : new TensorCall(call, in, out);
    }

    private Runnable call(String operation, Tensor in, Tensor out) {
        return switch (operation) {
            case "all_reduce" -> () -> sync.allReduce(out, ReduceOp.SUM);
            case "broadcast" -> () -> sync.broadcast(out, nextRoot());
            case "reduce" -> () -> sync.reduce(out, nextRoot(), ReduceOp.SUM);
            case "all_gather" -> () -> sync.allGatherSingle(out, in);
            case "reduce_scatter" -> () -> sync.reduceScatterSingle(out, in, ReduceOp.SUM);
            case "all_to_all" -> () -> sync.allToAllSingle(out, in);
            case "barrier" -> sync::barrier;
            case "sendrecv" ->
                    switch (rank()) {
                        case 0 ->
                                () -> {
                                    sync.send(in, 1);
                                    sync.recv(out, 1);
                                };
                        case 1 ->
                                () -> {
                                    sync.recv(out, 0);
                                    sync.send(out, 0);
                                };
                        default -> () -> {};
                    };
            default -> null;
        };
    }

    private int nextRoot() {
        int next = root;
        root = next + 1 == group.size() ? 0 : next + 1;
        return next;
    }

    @Override
    public void close() {
        group.close();
    }

    private record TensorCall(Runnable call, Tensor in, Tensor out) implements Call {

        @Override
        public void run() {
            call.run();
        }

        @Override
        public void write(float[] input, float[] output) {
            in.copyFrom(input);
            out.copyFrom(output);
        }

        @Override
        public float[] output() {
            return out.copyTo(new float[(int) out.count()]);
        }

        @Override
        public void close() {
            in.close();
            out.close();
        }
    }
}
