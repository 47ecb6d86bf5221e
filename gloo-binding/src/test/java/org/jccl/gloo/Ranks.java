package org.jccl.gloo;

import static org.jccl.testing.Patience.enough;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.IntFunction;
import org.jccl.Device;
import org.jccl.Interop;
import org.jccl.Store;
import org.jccl.spi.CommunicatorConfig;
import org.jccl.spi.HostCommunicator;
import org.jccl.store.HashStore;

/** Runs the ranks of a group as threads of this JVM. */
final class Ranks {

    static final Duration TIMEOUT = enough(Duration.ofSeconds(60));

    private static final String HOST = "127.0.0.1";

    private static final GlooProvider PROVIDER = new GlooProvider();

    private Ranks() {}

    interface Body<T> {
        T run(int rank, HostCommunicator communicator) throws Exception;
    }

    /** Every rank's result, or what it threw. */
    static <T> List<Future<T>> start(int size, Duration timeout, Body<T> body) {
        return start(size, timeout, rank -> HOST, body);
    }

    private static <T> List<Future<T>> start(
            int size, Duration timeout, IntFunction<String> hosts, Body<T> body) {
        Store store = HashStore.create(timeout);
        ExecutorService threads = Executors.newFixedThreadPool(size);
        List<Future<T>> results = new ArrayList<>();
        for (int i = 0; i < size; i++) {
            int rank = i;
            Callable<T> work =
                    () -> {
                        try (HostCommunicator communicator =
                                PROVIDER.create(
                                        config(rank, size, store, timeout, hosts.apply(rank)))) {
                            return body.run(rank, communicator);
                        }
                    };
            results.add(threads.submit(work));
        }
        threads.shutdown();
        return results;
    }

    static <T> List<T> run(int size, Body<T> body) throws Exception {
        return run(size, rank -> HOST, body);
    }

    /** Runs ranks that listen at different addresses, as those of several hosts do. */
    static <T> List<T> run(int size, IntFunction<String> hosts, Body<T> body) throws Exception {
        List<T> values = new ArrayList<>();
        for (Future<T> result : start(size, TIMEOUT, hosts, body)) {
            values.add(result.get());
        }
        return values;
    }

    static CommunicatorConfig config(int rank, int size, Store store, Duration timeout) {
        return config(rank, size, store, timeout, HOST);
    }

    private static CommunicatorConfig config(
            int rank, int size, Store store, Duration timeout, String host) {
        return new CommunicatorConfig(
                "test",
                rank,
                size,
                Optional.of(store),
                timeout,
                timeout,
                Device.CPU,
                Interop.NONE,
                Optional.empty(),
                Optional.of(GlooOptions.onHost(host)),
                Optional.empty(),
                List.of(),
                Optional.empty());
    }
}
