package org.jccl.launch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.jccl.BootstrapException;
import org.jccl.Store;
import org.jccl.StoreTimeoutException;
import org.jccl.internal.rendezvous.TimeLimit;
import org.jccl.store.HashStore;
import org.jccl.store.ReplicatedStore;
import org.jccl.store.StoreServer;
import org.jccl.store.TcpStore;
import org.jccl.store.TcpStoreServer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class NodeAgreementTest {

    private static final LaunchSettings NODE_1_OF_2 = nodeOf2(1, 0);

    private static LaunchSettings nodeOf2(int node, int restarts) {
        return TestSettings.of(2, node, List.of(), restarts, LostRanks.STOP_OTHERS);
    }

    /** What a store's clients meet whose host has lost its power: nobody resets a connection. */
    private static Store ofLostHost() {
        Store store = HashStore.create(Duration.ofSeconds(60));
        return (Store)
                Proxy.newProxyInstance(
                        Store.class.getClassLoader(),
                        new Class<?>[] {Store.class},
                        (proxy, method, arguments) -> {
                            if (!method.getName().equals("set")) {
                                throw new StoreTimeoutException("the server did not answer", null);
                            }
                            try {
                                return method.invoke(store, arguments);
                            } catch (InvocationTargetException e) {
                                throw e.getCause();
                            }
                        });
    }

    @Test
    @Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD, unit = TimeUnit.SECONDS)
    void aNodeThatIsDoneDoesNotWaitForALostHost() {
        NodeAgreement node = new NodeAgreement(ofLostHost(), NODE_1_OF_2, 0);
        NodeAgreement.Conclusion end =
                node.conclude(Optional.empty(), TimeLimit.in(Optional.empty()));
        assertThat(end.restart()).isFalse();
        assertThat(end.failure().orElseThrow())
                .hasMessageContaining("the launcher of node 0 is gone")
                .hasMessageContaining("did not answer");
    }

    /** A replicated store keeps the last addition of each client, also of those that are lost. */
    @Test
    void aLostLauncherLeavesNothingInTheKeysOfAll() {
        List<TcpStoreServer> servers = new ArrayList<>();
        List<StoreServer> names = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            Map<String, byte[]> id = Map.of(StoreServer.ID_KEY, StoredText.bytes("id" + i));
            InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
            servers.add(TcpStoreServer.bind(any, id));
            names.add(new StoreServer("127.0.0.1", servers.get(i).port(), "id" + i));
        }
        List<Long> bytes = new ArrayList<>();
        try (TcpStore raw =
                TcpStore.connect("127.0.0.1", names.get(0).port(), Duration.ofSeconds(60))) {
            for (int i = 0; i < 3; i++) {
                try (Store launcher =
                        ReplicatedStore.connect(names, Optional.empty(), Duration.ofSeconds(60))) {
                    LaunchSettings settings =
                            TestSettings.of(2, 1, List.of(), 100, LostRanks.REPLACE);
                    NodeAgreement node = new NodeAgreement(launcher, settings, 0);
                    // It gives up at once, since node 0 does not come.
                    assertThatThrownBy(() -> node.enter(TimeLimit.in(Duration.ZERO)))
                            .isInstanceOf(BootstrapException.class);
                    assertThat(node.reasonToStop()).isEmpty();
                }
                bytes.add(raw.listKeys().stream().mapToLong(key -> raw.get(key).length).sum());
            }
        } finally {
            servers.forEach(TcpStoreServer::close);
        }
        // The texts differ by the digits of a time.
        assertThat(bytes.get(2)).isCloseTo(bytes.get(0), within(5L));
    }

    /** It would wait minutes for that node in an attempt which has only its own ranks. */
    @Test
    @Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD, unit = TimeUnit.SECONDS)
    void aNodeThatIsSlowToStopDoesNotStartAgainWithoutTheOther() {
        Store store = HashStore.create(Duration.ofSeconds(60));
        RankFailure rank = new RankFailure(0, "host", 4711, 1, List.of(), Optional.empty());
        LaunchException failed = LaunchException.of("a rank failed", List.of(rank));
        NodeAgreement.Conclusion quick =
                new NodeAgreement(store, nodeOf2(1, 3), 0)
                        .conclude(Optional.of(failed), TimeLimit.in(Duration.ofMillis(200)));
        assertThat(quick.restart()).isFalse();
        NodeAgreement.Conclusion slow =
                new NodeAgreement(store, nodeOf2(0, 3), 0)
                        .conclude(Optional.of(failed), TimeLimit.in(Duration.ofSeconds(60)));
        assertThat(slow.restart()).isFalse();
        assertThat(slow.failure()).containsSame(failed);
    }
}
