package org.jccl;

import static org.jccl.testing.Patience.enough;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.jccl.internal.api.DefaultProcessGroup;
import org.jccl.internal.backend.Backend;
import org.jccl.internal.group.WorldBuilder;
import org.jccl.spi.BackendProvider;

/** Makes groups of providers that are no services. */
public final class TestGroups {

    private static final Duration JOIN_TIMEOUT = enough(Duration.ofSeconds(60));

    private TestGroups() {}

    /**
     * Joins a world on host memory.
     *
     * @param provider the backend
     * @param store shared by the ranks
     * @param rank this rank
     * @param size number of ranks
     * @param timeout deadline of each operation; joining has a longer one
     * @return the group
     */
    public static ProcessGroup world(
            BackendProvider provider, Store store, int rank, int size, Duration timeout) {
        return new DefaultProcessGroup(
                new WorldBuilder(
                                rank,
                                size,
                                timeout,
                                List.of(new Backend(provider, Device.CPU, Optional.empty())))
                        .store(store, false)
                        .joinTimeout(JOIN_TIMEOUT)
                        .connect());
    }
}
