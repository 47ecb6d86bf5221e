package org.jccl.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.concurrent.atomic.AtomicInteger;
import org.jccl.BootstrapException;
import org.jccl.Store;
import org.jccl.StoreException;
import org.jccl.UsageException;
import org.jccl.bootstrap.Rendezvous;
import org.jccl.etcd.EtcdCluster;
import org.jccl.etcd.EtcdStore;
import org.jccl.testing.FreePort;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What every store does, on one member of a real etcd. */
@Timeout(120)
@Tag("all")
final class EtcdStoreTest extends StoreContract {

    private static final AtomicInteger TESTS = new AtomicInteger();
    private static EtcdCluster etcd;

    private String prefix;

    @BeforeAll
    static void startEtcd(@TempDir Path folder) throws Exception {
        etcd = EtcdCluster.start(1, folder);
    }

    @AfterAll
    static void endEtcd() {
        if (etcd != null) {
            etcd.close();
        }
    }

    @BeforeEach
    @Override
    void openStore() throws Exception {
        prefix = "test/" + TESTS.incrementAndGet();
        super.openStore();
    }

    @Override
    Store connect(Duration timeout) {
        return EtcdStore.connect(etcd.url(prefix), timeout);
    }

    @Override
    int largestValue() {
        return 1 << 20;
    }

    @Override
    int manyKeys() {
        return 200;
    }

    @Test
    void partsDoNotSeeEachOther() {
        store.set("k", bytes("v"));
        try (Store other = EtcdStore.connect(etcd.url(prefix + "0"), LONG)) {
            assertThat(other.check(List.of("k"))).isFalse();
            assertThat(other.listKeys()).isEmpty();
        }
        assertThat(store.listKeys()).containsExactly("k");
    }

    @Test
    void ranksMeetByAUrl() {
        String url = etcd.url(prefix) + "?rank=0&world_size=1";
        OptionalInt none = OptionalInt.empty();
        try (Rendezvous world = Rendezvous.join(url, none, none, LONG, Map.of())) {
            assertThat(world.membership().worldSize()).isEqualTo(1);
            world.store().set("from rank 0", bytes("v"));
            assertThat(world.store().serverHost()).contains("127.0.0.1");
            assertThat(world.store().isEncrypted()).isFalse();
        }
        assertThat(store.get("from rank 0")).isEqualTo(bytes("v"));
    }

    @Test
    void aMemberThatIsNotThereIsNamedWithTheReason() throws Exception {
        int port = FreePort.next();
        assertThatThrownBy(() -> EtcdStore.connect("etcd://127.0.0.1:" + port + "/p", SHORT))
                .isInstanceOf(StoreException.class)
                .hasMessageContaining("etcd://127.0.0.1:" + port + "/p")
                .hasMessageContaining("Connection refused")
                .hasMessageContaining("more than half of etcd's members");
    }

    @Test
    void aWrongUrlIsExplained() {
        for (String wrong :
                List.of(
                        "etcd://",
                        "etcd://host/p",
                        "etcd://host:0/p",
                        "etcd://host:2379,/p",
                        "etcd://host:2379/p?cert=x",
                        "etcd://host:2379/p?colour=red",
                        "etcd://host:2379/p?user",
                        "tcp://host:2379/p")) {
            assertThatThrownBy(() -> EtcdStore.connect(wrong, LONG))
                    .as(wrong)
                    .isInstanceOf(UsageException.class);
        }
        assertThatThrownBy(() -> EtcdStore.connect("etcd://h:1/p?user=me:secret&colour=red", LONG))
                .hasMessageContaining("user=me:...")
                .hasMessageNotContaining("secret");
        OptionalInt none = OptionalInt.empty();
        assertThatThrownBy(() -> Rendezvous.join("zoo://h:1/p", none, none, LONG, Map.of()))
                .isInstanceOf(BootstrapException.class)
                .hasMessageContaining("the scheme 'zoo' is unknown");
    }
}
