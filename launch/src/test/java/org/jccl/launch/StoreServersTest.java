package org.jccl.launch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jccl.BootstrapException;
import org.jccl.UsageException;
import org.jccl.internal.rendezvous.TimeLimit;
import org.jccl.store.ReplicatedStore;
import org.jccl.store.StoreServer;
import org.jccl.testing.FreePort;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(120)
@Tag("all")
class StoreServersTest {

    private static final Duration LONG = Duration.ofSeconds(60);
    private static final int NODES = 4;

    private final List<String> endpoints = new ArrayList<>();
    private final List<StoreServers> open = new ArrayList<>();

    @BeforeEach
    void findPorts() throws Exception {
        for (int i = 0; i < 3; i++) {
            endpoints.add("127.0.0.1:" + FreePort.next());
        }
    }

    @AfterEach
    void close() {
        open.forEach(StoreServers::close);
    }

    private static LaunchSettings settings(int node, List<String> endpoints, LostRanks lost) {
        return TestSettings.of(NODES, node, endpoints, 1, lost);
    }

    private StoreServers node(int node) {
        StoreServers servers =
                StoreServers.open(settings(node, endpoints, LostRanks.REPLACE), TimeLimit.in(LONG));
        synchronized (open) {
            open.add(servers);
        }
        return servers;
    }

    private List<StoreServers> all() throws Exception {
        List<CompletableFuture<StoreServers>> starting = new ArrayList<>();
        for (int i = 0; i < NODES; i++) {
            int node = i;
            starting.add(
                    CompletableFuture.supplyAsync(
                            () -> node(node), task -> new Thread(task).start()));
        }
        List<StoreServers> all = new ArrayList<>();
        for (CompletableFuture<StoreServers> each : starting) {
            all.add(each.get(60, TimeUnit.SECONDS));
        }
        return all;
    }

    @Test
    void allHaveTheSameList() throws Exception {
        List<StoreServers> all = all();
        List<StoreServer> list = all.get(0).all();
        assertThat(list).hasSize(3);
        assertThat(all).allMatch(each -> each.all().equals(list));
        try (ReplicatedStore first = all.get(0).connect(LONG);
                ReplicatedStore last = all.get(3).connect(LONG)) {
            first.set("k", new byte[] {1});
            assertThat(last.get("k")).containsExactly(1);
        }
    }

    @Test
    void aServerThatIsStartedAgainDoesNotCount() throws Exception {
        List<StoreServers> all = all();
        List<StoreServer> list = all.get(0).all();
        try (ReplicatedStore store = all.get(1).connect(LONG)) {
            store.set("k", new byte[] {1});
            all.get(0).close();
            StoreServers again = node(0);
            assertThat(again.all()).isEqualTo(list);
            try (ReplicatedStore late = again.connect(LONG)) {
                assertThat(late.get("k")).containsExactly(1);
            }
        }
    }

    @Test
    void otherEndpointsAreRejected() throws Exception {
        all();
        List<String> other = List.of(endpoints.get(1), endpoints.get(2), endpoints.get(0));
        assertThatThrownBy(
                        () ->
                                StoreServers.open(
                                        settings(3, other, LostRanks.REPLACE), TimeLimit.in(LONG)))
                .isInstanceOf(BootstrapException.class)
                .hasMessageContaining("node 3")
                .hasMessageContaining("--rdzv-endpoint " + other)
                .hasMessageContaining(endpoints.toString());
    }

    @Test
    void absentServersAreNamed() {
        assertThatThrownBy(
                        () ->
                                StoreServers.open(
                                        settings(0, endpoints, LostRanks.REPLACE),
                                        TimeLimit.in(Duration.ofSeconds(3))))
                .isInstanceOf(BootstrapException.class)
                .hasMessageContaining("not all servers")
                .hasMessageContaining(endpoints.get(1));
    }

    @Test
    void endpointsMustFitTheJob() {
        assertThatThrownBy(() -> settings(0, endpoints.subList(0, 2), LostRanks.REPLACE))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("at least 3 endpoints");
        assertThatThrownBy(
                        () -> settings(0, List.of("a:1", "b:1", "c:1", "a:1"), LostRanks.REPLACE))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("twice");
        assertThatThrownBy(() -> settings(0, endpoints, LostRanks.STOP_OTHERS))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("replaces lost ranks");
    }
}
