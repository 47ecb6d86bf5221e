import static org.bytedeco.pytorch.global.torch.set_num_threads;
import static org.bytedeco.pytorch.global.torch.zeros;

import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.javacpp.Loader;
import org.bytedeco.pytorch.AllToAllOptions;
import org.bytedeco.pytorch.BroadcastOptions;
import org.bytedeco.pytorch.LongVector;
import org.bytedeco.pytorch.ProcessGroupGloo;
import org.bytedeco.pytorch.ReduceOptions;
import org.bytedeco.pytorch.TCPStore;
import org.bytedeco.pytorch.TCPStoreOptions;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.Work;
import org.jccl.benchmarks.Peer;

/** PyTorch's own Gloo by its JavaCPP presets, of the ranks that torchrun's variables say. */
public final class PresetsGloo implements Peer {

    private final int rank = Integer.parseInt(System.getenv("RANK"));
    private final int size = Integer.parseInt(System.getenv("WORLD_SIZE"));
    private final ProcessGroupGloo group;
    private final TCPStore store;
    private final BroadcastOptions[] broadcasts = new BroadcastOptions[size];
    private final ReduceOptions[] reduces = new ReduceOptions[size];
    private final AllToAllOptions allToAlls = new AllToAllOptions();
    private final LongVector noSplits = new LongVector();
    private int root;

    private interface Issue {
        Work work();
    }

    /** Only unpacks and loads the natives: processes that begin together do that over each other. */
    public static void main(String[] arguments) {
        set_num_threads(1);
    }

    public PresetsGloo() {
        set_num_threads(1);
        TCPStoreOptions options = new TCPStoreOptions();
        options.port((short) Integer.parseInt(System.getenv("MASTER_PORT")));
        options.isServer(rank == 0);
        options.waitWorkers(false);
        store = new TCPStore("127.0.0.1", options);
        ProcessGroupGloo.Options gloo = ProcessGroupGloo.Options.create();
        gloo.devices().push_back(ProcessGroupGloo.createDeviceForHostname("127.0.0.1"));
        group = new ProcessGroupGloo(store, rank, size, gloo);
        for (int i = 0; i < size; i++) {
            broadcasts[i] = new BroadcastOptions().rootRank(i);
            reduces[i] = new ReduceOptions().rootRank(i);
        }
    }

    @Override
    public int rank() {
        return rank;
    }

    @Override
    public int size() {
        return size;
    }

    @Override
    public String version() throws Exception {
        return "org.bytedeco:pytorch " + Loader.getVersion("org.bytedeco", "pytorch") + ", Java " + Runtime.version();
    }

    @Override
    public Call prepare(String operation, int input, int output) {
        root = 0;
        Tensor in = zeros(input);
        Tensor out = zeros(output);
        TensorVector ins = new TensorVector(in);
        TensorVector outs = new TensorVector(out);
        if (operation.equals("sendrecv")) {
            return new TensorCall(
                    () -> {
                        if (rank == 0) {
                            await(group.send(ins, 1, 0));
                            await(group.recv(outs, 1, 0));
                        } else if (rank == 1) {
                            await(group.recv(outs, 0, 0));
                            await(group.send(outs, 0, 0));
                        }
                    },
                    in,
                    out);
        }
        Issue issue =
                switch (operation) {
                    case "all_reduce" -> () -> group.allreduce(outs);
                    case "broadcast" -> () -> group.broadcast(outs, broadcasts[nextRoot()]);
                    case "reduce" -> () -> group.reduce(outs, reduces[nextRoot()]);
                    case "all_gather" -> () -> group._allgather_base(out, in);
                    case "reduce_scatter" -> () -> group._reduce_scatter_base(out, in);
                    case "all_to_all" -> () -> group.alltoall_base(out, in, noSplits, noSplits, allToAlls);
                    case "barrier" -> () -> group.barrier();
                    default -> null;
                };
        return issue == null ? null : new TensorCall(() -> await(issue.work()), in, out);
    }

    private int nextRoot() {
        int next = root;
        root = (next + 1) % size;
        return next;
    }

    private static void await(Work work) {
        work._wait();
        work.close();
    }

    @Override
    public void close() {
        group.close();
        store.close();
    }

    private record TensorCall(Runnable call, Tensor in, Tensor out) implements Call {

        @Override
        public void run() {
            call.run();
        }

        @Override
        public void write(float[] input, float[] output) {
            data(in).put(input);
            data(out).put(output);
        }

        @Override
        public float[] output() {
            float[] values = new float[(int) out.numel()];
            data(out).get(values);
            return values;
        }

        private static FloatPointer data(Tensor tensor) {
            return tensor.data_ptr_float().capacity(tensor.numel());
        }

        @Override
        public void close() {
            in.close();
            out.close();
        }
    }
}
