package org.jccl.mpi;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.jccl.Device;
import org.jccl.ProcessGroup;
import org.jccl.ProcessGroupBuilder;
import org.jccl.Store;
import org.jccl.conformance.Capability;
import org.jccl.conformance.ConformanceBackend;
import org.jccl.conformance.Rank;
import org.jccl.conformance.RankTensors;
import org.jccl.conformance.Ranks;
import org.jccl.spi.BackendProvider.World;
import org.jccl.store.PrefixStore;
import org.jccl.store.TcpStore;
import org.junit.jupiter.api.Assumptions;

/**
 * Ranks as processes that all run the same tests in the same order. Those that are more than a test
 * needs wait for its end.
 */
final class ProcessRanks implements Ranks {

    private record HostBackend(MpiOptions options, Ranks ranks) implements ConformanceBackend {

        @Override
        public boolean has(Capability capability) {
            return capability != Capability.SURVIVORS
                    && (capability != Capability.ENDING_CALLS || options.checks());
        }

        @Override
        public ProcessGroup join(Store store, int rank, int size, Duration timeout) {
            return world(options, store, rank, size, timeout).build();
        }
    }

    private static final Duration LONGEST_TEST = Ranks.onThisHost(150);

    private final Store store;
    private final String deviceType;
    private final World world = new MpiProvider().world(Optional.empty()).orElseThrow();
    private ConformanceBackend backend;
    private int runs;

    /**
     * Joins the ranks of this job.
     *
     * @param deviceType of the device that has the tensors
     */
    ProcessRanks(int storePort, String deviceType) {
        this.deviceType = deviceType;
        store = TcpStore.connect("127.0.0.1", storePort, TIMEOUT);
        useChecks(false);
    }

    /** Whether groups from now on check what ranks issue. */
    void useChecks(boolean checked) {
        MpiOptions options = checked ? MpiOptions.defaults().withChecks() : MpiOptions.defaults();
        backend =
                deviceType.equals("cpu")
                        ? new HostBackend(options, this)
                        : new CudaBackend(options, new Device(deviceType, world.rank()), this);
    }

    static ProcessGroupBuilder world(
            MpiOptions options, Store shared, int rank, int size, Duration timeout) {
        return ProcessGroup.builder()
                .backend(MpiProvider.NAME)
                .options(options)
                .store(shared)
                .rank(rank)
                .worldSize(size)
                .joinTimeout(Ranks.TIMEOUT)
                .timeout(timeout);
    }

    ConformanceBackend backend() {
        return backend;
    }

    int rank() {
        return world.rank();
    }

    @Override
    public void run(int size, Duration timeout, Body body) {
        // Skipped on all ranks alike.
        Assumptions.assumeTrue(size <= world.size(), "needs " + size + " ranks");
        Store mine = new PrefixStore("run/" + runs++, store);
        try {
            if (world.rank() < size) {
                runHere(mine, size, timeout, body);
            }
        } finally {
            meet(mine);
        }
    }

    /** Waits until all processes have come to the end of a test, or of all of them. */
    private void meet(Store place) {
        place.set("done/" + world.rank(), "x".getBytes(StandardCharsets.UTF_8));
        List<String> all =
                IntStream.range(0, world.size()).mapToObj(rank -> "done/" + rank).toList();
        place.await(all, LONGEST_TEST);
    }

    /**
     * Leaves the results in the store and waits until all processes have: the first to exit ends
     * the job, and its launcher may lose what others have printed.
     */
    void report(String results) {
        store.set(reportOf(world.rank()), results.getBytes(StandardCharsets.UTF_8));
        meet(store);
    }

    static String reportOf(int rank) {
        return "report/" + rank;
    }

    private void runHere(Store mine, int size, Duration timeout, Body body) {
        try (RankTensors tensors = new RankTensors();
                ProcessGroup group = backend.join(mine, world.rank(), size, timeout)) {
            body.run(new Rank(group, mine, backend, tensors));
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Exception e) {
            throw new AssertionError("rank " + world.rank() + " failed: " + e, e);
        }
    }
}
