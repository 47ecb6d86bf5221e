package org.jccl.sccl;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jccl.Device;
import org.jccl.ProcessGroup;
import org.jccl.store.HashStore;
import org.jccl.store.Store;

/** Worlds of one TPU a rank, all in this process. */
final class World {

    static final Duration TIMEOUT = Duration.ofSeconds(60);

    private World() {}

    interface Body {
        void run(ProcessGroup group, Device device) throws Exception;
    }

    static Device tpu(int index) {
        return new Device("tpu", index);
    }

    /** A world of this rank alone, on the first device. */
    static ProcessGroup alone() {
        return join(HashStore.create(TIMEOUT), 0, 1, TIMEOUT, ScclOptions.defaults(), tpu(0));
    }

    static ProcessGroup join(
            Store store, int rank, int size, Duration timeout, ScclOptions options, Device device) {
        return ProcessGroup.builder()
                .backend("sccl")
                .store(store)
                .rank(rank)
                .worldSize(size)
                .device(device)
                .timeout(timeout)
                .options(options)
                .build();
    }

    static void run(int size, Duration timeout, ScclOptions options, Body body) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(size);
        try (Store store = HashStore.create(TIMEOUT)) {
            List<Future<Void>> ranks = new ArrayList<>();
            for (int i = 0; i < size; i++) {
                int rank = i;
                Device device = options.chipMap().isEmpty() ? tpu(i) : options.device(i);
                Callable<Void> task =
                        () -> {
                            try (ProcessGroup group =
                                    join(store, rank, size, timeout, options, device)) {
                                body.run(group, device);
                            }
                            return null;
                        };
                ranks.add(threads.submit(task));
            }
            for (Future<Void> rank : ranks) {
                rank.get();
            }
        } catch (ExecutionException e) {
            throw new AssertionError("a rank failed: " + e.getCause(), e.getCause());
        } finally {
            threads.shutdown();
        }
    }

    static void run(int size, Body body) throws Exception {
        run(size, TIMEOUT, ScclOptions.defaults(), body);
    }
}
