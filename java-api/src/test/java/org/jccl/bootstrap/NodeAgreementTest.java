package org.jccl.bootstrap;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.jccl.Store;
import org.jccl.StoreTimeoutException;
import org.jccl.store.HashStore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class NodeAgreementTest {

    private static final LaunchSettings NODE_1_OF_2 =
            new LaunchSettings(
                    List.of(new LaunchRole("default", 1, List.of("true"))),
                    Map.of(),
                    Optional.empty(),
                    2,
                    1,
                    "127.0.0.1",
                    29500,
                    Optional.empty(),
                    "r",
                    0,
                    false,
                    (rank, error, line) -> {},
                    Optional.empty(),
                    OutputStreams.NONE,
                    OutputStreams.NONE,
                    Optional.empty(),
                    Duration.ZERO);

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
}
