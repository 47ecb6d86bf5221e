package org.jccl.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.enough;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import org.jccl.Store;
import org.jccl.UsageException;
import org.junit.jupiter.api.Test;

final class PrefixStoreTest extends QueueContract {

    private final HashStore root = HashStore.create(LONG);
    private final PrefixStore inner = new PrefixStore("inner", root);
    private final PrefixStore outer = new PrefixStore("outer/", inner);

    @Override
    Store connect(Duration timeout) {
        return outer.duplicate(timeout);
    }

    @Test
    void putsPrefixesInFront() {
        outer.set("k", bytes("v"));
        outer.barrier("b", 1, LONG);
        assertThat(root.listKeys())
                .containsExactlyInAnyOrder(
                        "inner/outer//k",
                        "inner/outer//b/num_members",
                        "inner/outer//b/last_member");
    }

    @Test
    void listsItsOwnKeysAndCountsAll() {
        root.set("inner", bytes("not below the prefix"));
        inner.set("k", bytes("v"));
        assertThat(inner.listKeys()).containsExactly("k");
        assertThat(inner.keyCount()).isEqualTo(2);
    }

    @Test
    void tellsWhatIsBeneath() {
        assertThat(outer.underlying()).isSameAs(inner);
        assertThat(PrefixStore.root(outer)).isSameAs(root);
        assertThat(PrefixStore.root(root)).isSameAs(root);
    }

    @Test
    void tellsWhereTheStoreIs() {
        assertThat(outer.serverHost()).isEmpty();
        assertThat(outer.isEncrypted()).isTrue();
        assertThat(new PrefixStore("a", ofTheUser()).isEncrypted()).isFalse();
        try (TcpStoreServer server = TcpStoreServer.bind(new InetSocketAddress("127.0.0.1", 0));
                TcpStore store =
                        TcpStore.connect(
                                "127.0.0.1", server.port(), enough(Duration.ofSeconds(60)))) {
            PrefixStore view = new PrefixStore("a", new PrefixStore("b", store));
            assertThat(view.serverHost()).contains("127.0.0.1");
            assertThat(view.isEncrypted()).isFalse();
        }
    }

    /** A store that has only what a Store must have. */
    private static Store ofTheUser() {
        return (Store)
                Proxy.newProxyInstance(
                        Store.class.getClassLoader(),
                        new Class<?>[] {Store.class},
                        (self, method, arguments) ->
                                InvocationHandler.invokeDefault(self, method, arguments));
    }

    @Test
    void closingAViewLeavesTheStoreOpen() {
        outer.close();
        root.set("k", bytes("v"));
        assertThat(root.check(List.of("k"))).isTrue();
    }

    @Test
    void needsAPrefixAndAStore() {
        assertThatThrownBy(() -> new PrefixStore("p", null)).isInstanceOf(UsageException.class);
        assertThatThrownBy(() -> new PrefixStore(null, root)).isInstanceOf(UsageException.class);
    }
}
