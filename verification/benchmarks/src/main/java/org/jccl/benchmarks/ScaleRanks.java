package org.jccl.benchmarks;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import org.jccl.Device;
import org.jccl.Interop;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Store;
import org.jccl.Tensor;
import org.jccl.bootstrap.Rendezvous;
import org.jccl.internal.group.WorldAgreement;
import org.jccl.spi.Arrivals;
import org.jccl.spi.CommunicatorConfig;
import org.jccl.store.PrefixStore;
import org.jccl.store.TcpStore;
import org.jccl.store.TcpStoreServer;

/**
 * Many ranks that do against one store what ranks do, by the same classes, each in a thread and
 * with a connection of its own; only the libraries are missing. {@code script/bench/scale} runs it.
 *
 * <p>All ranks begin a phase together, and its time is that until the last one is done.
 */
public final class ScaleRanks {

    private static final Duration TIMEOUT = Duration.ofMinutes(10);
    private static final int STACK_BYTES = 256 << 10;
    private static final int SUBGROUP = 8;
    private static final int ID_BYTES = 128;
    private static final int SPLIT_BYTES = 8;

    /** Host name, address, and gloo's form of address and port. */
    private static final int GLOO_BYTES = 170;

    /** What a rank does in a phase. */
    private interface Phase {
        void run(ScaleRanks world, int rank);
    }

    /** What ranks do against a store, without the library that connects them. */
    private static final Map<String, Phase> SIMULATED = new LinkedHashMap<>();

    /** What ranks of Gloo do. */
    private static final Map<String, Phase> REAL = new LinkedHashMap<>();

    static {
        SIMULATED.put("rendezvous", ScaleRanks::join);
        SIMULATED.put("world", ScaleRanks::agree);
        SIMULATED.put("communicator by id", ScaleRanks::byIdOfWorld);
        SIMULATED.put("sub-groups of 8 by id", ScaleRanks::byIdOfSubgroup);
        SIMULATED.put("split", (world, rank) -> world.meet(rank, "split/0/", SPLIT_BYTES));
        SIMULATED.put("addresses of gloo", (world, rank) -> world.meet(rank, "gloo/", GLOO_BYTES));
        SIMULATED.put("leave", (world, rank) -> world.rendezvous[rank].close());

        REAL.put("world of gloo", ScaleRanks::build);
        REAL.put("all_reduce of 4 bytes", ScaleRanks::reduce);
        REAL.put("sub-groups of 8", ScaleRanks::subgroup);
        REAL.put("split in two", ScaleRanks::split);
        REAL.put("close", (world, rank) -> world.groups[rank].close());
    }

    private final int size;
    private final int first;
    private final int step;
    private final TcpStoreServer server;
    private final Rendezvous[] rendezvous;
    private final Store[] part;
    private final ProcessGroup[] groups;
    private final BufferedReader goOn;
    private final AtomicReference<Throwable> failure = new AtomicReference<>();

    private int port;
    private long started;
    private long ended;
    private long cpu;
    private long storeCpu;
    private long requests;
    private long bytes;

    private ScaleRanks(int size, int first, int step, TcpStoreServer server, BufferedReader goOn) {
        this.size = size;
        this.first = first;
        this.step = step;
        this.server = server;
        this.rendezvous = new Rendezvous[size];
        this.part = new Store[size];
        this.groups = new ProcessGroup[size];
        this.goOn = goOn;
    }

    /**
     * Runs one process's ranks of worlds of several sizes, every {@code processes}-th one. The
     * first process serves the store. Before each phase it prints {@code ready} and waits for a
     * line with the store's port, so that all processes begin together; after it, what the phase
     * took, and waits for a line again.
     *
     * @param args {@code simulated} or {@code gloo}, which process this is, how many there are, and
     *     the sizes
     * @throws Exception when a rank fails
     */
    public static void main(String[] args) throws Exception {
        int first = Integer.parseInt(args[1]);
        int step = Integer.parseInt(args[2]);
        BufferedReader goOn =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String size : Arrays.asList(args).subList(3, args.length)) {
            try (TcpStoreServer server =
                    first > 0
                            ? null
                            : TcpStoreServer.bind(
                                    new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))) {
                ScaleRanks world =
                        new ScaleRanks(Integer.parseInt(size), first, step, server, goOn);
                world.run(args[0].equals("gloo") ? REAL : SIMULATED);
            }
        }
    }

    private void run(Map<String, Phase> phases) throws Exception {
        int mine = (size - first + step - 1) / step;
        CyclicBarrier begin = new CyclicBarrier(mine, this::begin);
        CyclicBarrier end = new CyclicBarrier(mine, this::end);
        AtomicReference<String> phase = new AtomicReference<>();
        CyclicBarrier told = new CyclicBarrier(mine, () -> tell(phase.get()));
        List<Thread> threads = new ArrayList<>();
        for (int i = first; i < size; i += step) {
            int rank = i;
            Runnable all =
                    () -> {
                        for (String each : phases.keySet()) {
                            await(begin);
                            phase.set(each);
                            try {
                                phases.get(each).run(this, rank);
                            } catch (RuntimeException | Error e) {
                                failure.compareAndSet(null, e);
                            }
                            await(end);
                            await(told);
                        }
                    };
            Thread thread = new Thread(null, all, "rank-" + rank, STACK_BYTES);
            threads.add(thread);
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }

    private static void await(CyclicBarrier barrier) {
        try {
            barrier.await();
        } catch (InterruptedException | BrokenBarrierException e) {
            throw new IllegalStateException(e);
        }
    }

    private void begin() {
        System.out.println("ready " + (server == null ? 0 : server.port()));
        port = Integer.parseInt(read());
        cpu = processCpu();
        if (server != null) {
            storeCpu = serverCpu();
            requests = server.requests();
            bytes = loopbackBytes();
        }
        started = System.nanoTime();
    }

    private void end() {
        ended = System.nanoTime();
    }

    private void tell(String phase) {
        if (failure.get() != null) {
            failure.get().printStackTrace();
            System.exit(1);
        }
        System.out.println(
                String.format(
                        Locale.ROOT,
                        "%d;%s;%.4f;%.4f",
                        size,
                        phase,
                        (ended - started) / 1e9,
                        (processCpu() - cpu) / 1e9));
        read(); // when all processes are done
        if (server != null) {
            System.out.println(
                    String.format(
                            Locale.ROOT,
                            "%.4f;%.1f;%.1f",
                            (serverCpu() - storeCpu) / 1e9,
                            (double) (server.requests() - requests) / size,
                            (double) (loopbackBytes() - bytes) / 1e3 / size));
        }
    }

    private String read() {
        try {
            return goOn.readLine();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private long serverCpu() {
        var threads = ManagementFactory.getThreadMXBean();
        String name = "jccl-store-" + server.port();
        for (var each : threads.getThreadInfo(threads.getAllThreadIds())) {
            if (each != null && each.getThreadName().equals(name)) {
                return threads.getThreadCpuTime(each.getThreadId());
            }
        }
        throw new IllegalStateException(name + " has ended");
    }

    private static long processCpu() {
        var system = ManagementFactory.getOperatingSystemMXBean();
        return ((com.sun.management.OperatingSystemMXBean) system).getProcessCpuTime();
    }

    private static long loopbackBytes() {
        try {
            for (String line : Files.readAllLines(Path.of("/proc/net/dev"))) {
                String[] words = line.strip().split("[: ]+");
                if (words[0].equals("lo")) {
                    return Long.parseLong(words[1]);
                }
            }
            return 0;
        } catch (IOException e) {
            return 0;
        }
    }

    /** As under a launcher that serves the store. */
    private void join(int rank) {
        Map<String, String> environment =
                Map.of(
                        "TORCHELASTIC_USE_AGENT_STORE", "True",
                        "MASTER_ADDR", "127.0.0.1",
                        "MASTER_PORT", Integer.toString(port));
        rendezvous[rank] =
                Rendezvous.join(
                        "tcp://127.0.0.1:" + port,
                        OptionalInt.of(rank),
                        OptionalInt.of(size),
                        TIMEOUT,
                        environment);
    }

    private void agree(int rank) {
        part[rank] =
                new WorldAgreement(rendezvous[rank].store(), rank, size, false, TIMEOUT).enter();
    }

    private void byIdOfWorld(int rank) {
        byId(config("world", rank, size, part[rank]));
    }

    private void byIdOfSubgroup(int rank) {
        int first = rank / SUBGROUP * SUBGROUP;
        int members = Math.min(SUBGROUP, size - first);
        byId(config("world/" + first, rank - first, members, part[rank]));
    }

    private void build(int rank) {
        groups[rank] =
                ProcessGroup.builder()
                        .backend("gloo")
                        .store(TcpStore.connect("127.0.0.1", port, TIMEOUT))
                        .rank(rank)
                        .worldSize(size)
                        .timeout(TIMEOUT)
                        .build();
    }

    private void reduce(int rank) {
        FloatBuffer one =
                ByteBuffer.allocateDirect(Float.BYTES)
                        .order(ByteOrder.nativeOrder())
                        .asFloatBuffer()
                        .put(0, 1);
        groups[rank].sync().allReduce(Tensor.of(one), ReduceOp.SUM);
        if (one.get(0) != size) {
            throw new IllegalStateException("the sum is " + one.get(0));
        }
    }

    private void subgroup(int rank) {
        int first = rank / SUBGROUP * SUBGROUP;
        int end = Math.min(first + SUBGROUP, size);
        List<Integer> members = IntStream.range(first, end).boxed().toList();
        groups[rank].newGroup(members).orElseThrow().close();
    }

    private void split(int rank) {
        groups[rank].split(rank % 2, 0).orElseThrow().close();
    }

    private static CommunicatorConfig config(String name, int rank, int size, Store store) {
        return new CommunicatorConfig(
                name,
                rank,
                size,
                Optional.of(new PrefixStore("nccl", new PrefixStore(name, store))),
                TIMEOUT,
                TIMEOUT,
                Device.CPU,
                Interop.NONE,
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                List.of(),
                Optional.empty());
    }

    /** As NCCL's and HCCL's ranks find each other. */
    private void byId(CommunicatorConfig config) {
        String key = "communicator";
        config.join(
                key,
                List.of(key),
                () -> {
                    if (config.rank() == 0) {
                        config.store().orElseThrow().set(key, new byte[ID_BYTES]);
                        return key;
                    }
                    config.fetch(key, ID_BYTES, "id", TIMEOUT);
                    return key;
                });
    }

    /** As ranks that all have to know something of each other. */
    private void meet(int rank, String prefix, int bytesEach) {
        Arrivals arrivals = new Arrivals(part[rank], size, other -> prefix + other);
        List<byte[]> all = arrivals.exchange(rank, new byte[bytesEach], TIMEOUT, prefix, TIMEOUT);
        if (all.size() != size
                || IntStream.range(0, size).anyMatch(r -> all.get(r).length != bytesEach)) {
            throw new IllegalStateException(prefix + " gave something else than what was said");
        }
        arrivals.leave(prefix + "left", List.of());
    }
}
