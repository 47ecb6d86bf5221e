package org.jccl.launch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.testing.Patience.enough;
import static org.jccl.testing.Patience.expires;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.jccl.Store;
import org.jccl.StoreTimeoutException;
import org.jccl.spi.Deadline;
import org.jccl.store.HashStore;
import org.jccl.store.PrefixStore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class NodeAgreementTest {

    private static final LaunchSettings NODE_1_OF_2 = nodeOf2(1, 0);

    private static LaunchSettings nodeOf2(int node, int restarts) {
        return TestSettings.of(2, node, restarts, LostRanks.STOP_OTHERS);
    }

    /** What a store's clients meet whose host has lost its power: nobody resets a connection. */
    private static Store ofLostHost() {
        Store store = HashStore.create(enough(Duration.ofSeconds(60)));
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
        NodeAgreement.Conclusion end = node.conclude(Optional.empty(), Deadline.none());
        assertThat(end.restart()).isFalse();
        assertThat(end.failure().orElseThrow())
                .hasMessageContaining("the launcher of node 0 is gone")
                .hasMessageContaining("did not answer");
    }

    /** As if its pod were evicted. */
    @Test
    @Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD, unit = TimeUnit.SECONDS)
    void nobodyWaitsForALauncherThatWasToldToEnd() {
        Store store = HashStore.create(enough(Duration.ofSeconds(60)));
        RankFailure rank = new RankFailure(0, "host", 4711, 143, List.of(), Optional.empty());
        LaunchException failed = LaunchException.of("a rank failed", List.of(rank));
        new NodeAgreement(store, nodeOf2(1, 3), 0).launcherEnds();
        NodeAgreement.Conclusion end =
                new NodeAgreement(store, nodeOf2(0, 3), 0)
                        .conclude(
                                Optional.of(failed),
                                Deadline.after(enough(Duration.ofSeconds(60))));
        assertThat(end.restart()).isFalse();
        // A launcher that had waited in vain would have written its own reason.
        assertThat(StoredText.find(part(store), "given up"))
                .contains("node 1: its launcher was told to end");
    }

    private static Store part(Store store) {
        return new PrefixStore("jccl/run/" + NODE_1_OF_2.runId() + "/0", store);
    }

    @Test
    void theMissingNodesAreKnownWhileALauncherWaits() {
        Store store = HashStore.create(enough(Duration.ofSeconds(60)));
        NodeAgreement node = new NodeAgreement(store, NODE_1_OF_2, 0);
        part(store).set("enter/node 1", new byte[] {1});
        assertThat(node.missingNodes().orElseThrow()).contains("nodes [0] of 2", "--node-rank");
    }

    /** It would wait minutes for that node in an attempt which has only its own ranks. */
    @Test
    @Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD, unit = TimeUnit.SECONDS)
    void aNodeThatIsSlowToStopDoesNotStartAgainWithoutTheOther() {
        Store store = HashStore.create(enough(Duration.ofSeconds(60)));
        RankFailure rank = new RankFailure(0, "host", 4711, 1, List.of(), Optional.empty());
        LaunchException failed = LaunchException.of("a rank failed", List.of(rank));
        NodeAgreement.Conclusion quick =
                new NodeAgreement(store, nodeOf2(1, 3), 0)
                        .conclude(
                                Optional.of(failed),
                                Deadline.after(expires(Duration.ofMillis(200))));
        assertThat(quick.restart()).isFalse();
        NodeAgreement.Conclusion slow =
                new NodeAgreement(store, nodeOf2(0, 3), 0)
                        .conclude(
                                Optional.of(failed),
                                Deadline.after(enough(Duration.ofSeconds(60))));
        assertThat(slow.restart()).isFalse();
        assertThat(slow.failure()).containsSame(failed);
    }
}
