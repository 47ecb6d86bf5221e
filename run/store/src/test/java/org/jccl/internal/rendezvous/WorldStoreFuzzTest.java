package org.jccl.internal.rendezvous;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import org.jccl.BootstrapException;

/** Any bytes say where the store of a library's world is, or are refused. */
class WorldStoreFuzzTest {

    @FuzzTest
    void readsOrRefuses(byte[] bytes) {
        WorldStore store;
        try {
            store = WorldStore.decode(bytes);
        } catch (BootstrapException refused) {
            return;
        }
        assertThat(store.port()).isBetween(1, 65535);
        assertThat(store.secretBytes()).isNotEmpty();
        assertThat(store.addresses()).isNotEmpty();
        byte[] again = new byte[Math.max(bytes.length, WorldStore.BYTES)];
        store.encode(again);
        assertThat(WorldStore.decode(again)).isEqualTo(store);
    }
}
