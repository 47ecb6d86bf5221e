package org.jccl.benchmarks;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.SyncCollectives;
import org.jccl.Tensor;
import org.jccl.mpi.MpiOptions;

/**
 * JCCL beside C, and beside another binding, in the same processes on the same memory: each takes a
 * short turn, over and over. {@code script/bench/vs-mpi} starts it several times, since one start
 * differs from the next more than the contenders do.
 */
public final class MpiPairs {

    private static final double TURN_SECONDS = 0.002;
    private static final double WARM_UP_SECONDS = 0.6;
    private static final int FEWEST_TURNS = 9;

    /** Makes a number of calls. */
    private interface Loop {
        void run(int repetitions) throws Exception;
    }

    private final ProcessGroup world;
    private final ProcessGroup trusted;
    private final MpiPeer peer;
    private final Tensor agreed = Tensor.allocate(Device.CPU, DataType.FLOAT64, 1);

    private MpiPairs(ProcessGroup world, ProcessGroup trusted, MpiPeer peer) {
        this.world = world;
        this.trusted = trusted;
        this.peer = peer;
    }

    /**
     * Measures, and prints on rank 0 a line for each turn: operation, bytes, contender, number of
     * the turn, microseconds a call.
     *
     * @param arguments the library with the loops in C, the class of an {@link MpiPeer} or {@code
     *     -}, seconds of measuring for each size, and then operations with bytes, as in {@code
     *     all_reduce:4}
     * @throws Exception when a call fails
     */
    public static void main(String[] arguments) throws Exception {
        MpiPeer peer = null;
        if (!arguments[1].equals("-")) {
            peer = (MpiPeer) Class.forName(arguments[1]).getConstructor().newInstance();
            peer.join(); // first, since it cannot use an MPI that is there already
        }
        try (ProcessGroup world = ProcessGroup.init("mpi");
                ProcessGroup trusted =
                        ProcessGroup.builder()
                                .backend("mpi")
                                .options(MpiOptions.defaults().withTrustedSizes())
                                .build()) {
            System.load(arguments[0]);
            MpiLoops.join();
            MpiPairs pairs = new MpiPairs(world, trusted, peer);
            for (String each : Arrays.asList(arguments).subList(3, arguments.length)) {
                String[] parts = each.split(":");
                pairs.measure(
                        parts[0], Integer.parseInt(parts[1]), Double.parseDouble(arguments[2]));
            }
        }
    }

    private void measure(String operation, int bytes, double seconds) throws Exception {
        int floats = bytes / Float.BYTES;
        try (Tensor in = Tensor.allocate(Device.CPU, DataType.FLOAT32, floats);
                Tensor out = Tensor.allocate(Device.CPU, DataType.FLOAT32, floats)) {
            // Memory that was never written is one page of zeros, which is always in the cache.
            float[] values = new float[floats];
            Arrays.fill(values, 1);
            in.copyFrom(values);
            out.copyFrom(values);
            Map<String, Loop> loops =
                    operation.equals("all_reduce") ? reductions(in) : pingPongs(in, out);
            int repetitions = warmUp(loops);
            int turns = (int) Math.max(FEWEST_TURNS, seconds / TURN_SECONDS / loops.size());
            Map<String, double[]> micros = alternate(loops, repetitions, turns);
            if (world.rank() == 0) {
                print(operation, bytes, micros);
            }
        }
    }

    private Map<String, Loop> reductions(Tensor data) {
        long address = data.address();
        int floats = (int) data.count();
        Map<String, Loop> loops = new LinkedHashMap<>();
        loops.put("c", n -> MpiLoops.allReduce(address, floats, false, n));
        loops.put("sync", reductions(world.sync(), data));
        loops.put(
                "async",
                n -> {
                    for (int i = 0; i < n; i++) {
                        world.allReduce(data, ReduceOp.SUM).await();
                    }
                });
        loops.put("c_blocking", n -> MpiLoops.allReduce(address, floats, true, n));
        loops.put("sync_trusted", reductions(trusted.sync(), data));
        if (peer != null) {
            ByteBuffer view = MpiLoops.view(address, data.byteSize());
            loops.put("peer", n -> peer.allReduce(view, floats, n));
        }
        return loops;
    }

    private static Loop reductions(SyncCollectives sync, Tensor data) {
        return n -> {
            for (int i = 0; i < n; i++) {
                sync.allReduce(data, ReduceOp.SUM);
            }
        };
    }

    private Map<String, Loop> pingPongs(Tensor in, Tensor out) {
        int floats = (int) in.count();
        Map<String, Loop> loops = new LinkedHashMap<>();
        loops.put("c", n -> MpiLoops.pingPong(in.address(), out.address(), floats, false, n));
        loops.put("sync", pingPongs(world.sync(), in, out));
        loops.put(
                "async",
                n -> {
                    for (int i = 0; i < n; i++) {
                        if (world.rank() == 0) {
                            world.send(in, 1).await();
                            world.recv(out, 1).await();
                        } else if (world.rank() == 1) {
                            world.recv(out, 0).await();
                            world.send(in, 0).await();
                        }
                    }
                });
        loops.put(
                "c_blocking", n -> MpiLoops.pingPong(in.address(), out.address(), floats, true, n));
        loops.put("sync_trusted", pingPongs(trusted.sync(), in, out));
        if (peer != null) {
            ByteBuffer sent = MpiLoops.view(in.address(), in.byteSize());
            ByteBuffer received = MpiLoops.view(out.address(), out.byteSize());
            loops.put("peer", n -> peer.pingPong(sent, received, floats, n));
        }
        return loops;
    }

    private Loop pingPongs(SyncCollectives sync, Tensor in, Tensor out) {
        return n -> {
            for (int i = 0; i < n; i++) {
                if (world.rank() == 0) {
                    sync.send(in, 1);
                    sync.recv(out, 1);
                } else if (world.rank() == 1) {
                    sync.recv(out, 0);
                    sync.send(in, 0);
                }
            }
        };
    }

    /** Returns how many calls make a turn, the same on all ranks. */
    private int warmUp(Map<String, Loop> loops) throws Exception {
        double slowest = 0;
        for (Loop loop : loops.values()) {
            int repetitions = 1;
            double seconds = 0;
            for (double spent = 0; spent < WARM_UP_SECONDS; spent += seconds) {
                long start = System.nanoTime();
                loop.run(repetitions);
                seconds = largest((System.nanoTime() - start) / 1e9);
                if (seconds < TURN_SECONDS) {
                    repetitions *= 2;
                }
            }
            slowest = Math.max(slowest, seconds / repetitions);
        }
        return (int) Math.max(1, TURN_SECONDS / slowest);
    }

    private double largest(double value) {
        agreed.copyFrom(new double[] {value});
        world.sync().allReduce(agreed, ReduceOp.MAX);
        return agreed.copyTo(new double[1])[0];
    }

    private Map<String, double[]> alternate(Map<String, Loop> loops, int repetitions, int turns)
            throws Exception {
        Map<String, double[]> micros = new LinkedHashMap<>();
        loops.keySet().forEach(name -> micros.put(name, new double[turns]));
        List<String> names = new ArrayList<>(loops.keySet());
        for (int turn = 0; turn < turns; turn++) {
            for (int i = 0; i < names.size(); i++) {
                String name = names.get((turn + i) % names.size()); // nobody is always the first
                world.sync().barrier();
                long start = System.nanoTime();
                loops.get(name).run(repetitions);
                micros.get(name)[turn] = (System.nanoTime() - start) / 1e3 / repetitions;
            }
        }
        return micros;
    }

    private static void print(String operation, int bytes, Map<String, double[]> micros) {
        micros.forEach(
                (name, values) -> {
                    for (int turn = 0; turn < values.length; turn++) {
                        System.out.printf(
                                Locale.ROOT,
                                "%s,%d,%s,%d,%.4f%n",
                                operation,
                                bytes,
                                name,
                                turn,
                                values[turn]);
                    }
                });
    }
}
