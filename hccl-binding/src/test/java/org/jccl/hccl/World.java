package org.jccl.hccl;

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

/** Worlds of one device a rank, all in this process. */
final class World {

    static final Duration TIMEOUT = Duration.ofSeconds(60);
    static final Device NPU = npu(0);

    private World() {}

    interface Body {
        void run(ProcessGroup group, Device device) throws Exception;
    }

    static Device npu(int index) {
        return new Device("npu", index);
    }

    /** A world of this rank alone, on the first device. */
    static ProcessGroup alone() {
        return join(HashStore.create(TIMEOUT), 0, 1, TIMEOUT, HcclOptions.defaults());
    }

    static ProcessGroup join(
            Store store, int rank, int size, Duration timeout, HcclOptions options) {
        return ProcessGroup.builder()
                .backend("hccl")
                .store(store)
                .rank(rank)
                .worldSize(size)
                .device(npu(rank))
                .timeout(timeout)
                .options(options)
                .build();
    }

    static void run(int size, Duration timeout, HcclOptions options, Body body) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(size);
        try (Store store = HashStore.create(TIMEOUT)) {
            List<Future<Void>> ranks = new ArrayList<>();
            for (int i = 0; i < size; i++) {
                int rank = i;
                Callable<Void> task =
                        () -> {
                            try (ProcessGroup group = join(store, rank, size, timeout, options)) {
                                body.run(group, npu(rank));
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
        run(size, TIMEOUT, HcclOptions.defaults(), body);
    }
}
