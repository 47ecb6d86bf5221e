package org.jccl.hccl;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Optional;
import org.jccl.Interop;
import org.jccl.Store;
import org.jccl.spi.CommunicatorConfig;
import org.jccl.store.HashStore;
import org.junit.jupiter.api.Test;

/** What rank 0 leaves for others. */
final class HcclConnectorTest {

    /** Its ranks get both keys, and would wait for the second until their store gives up. */
    @Test
    void ranksOfTorchNpuFindTheRootInfoAndTheVersion() {
        assertThat(new HcclProvider().availability().isAvailable()).isTrue();
        Store store = HashStore.create(World.TIMEOUT);
        CommunicatorConfig config =
                new CommunicatorConfig(
                        "world",
                        0,
                        1,
                        Optional.of(store),
                        World.TIMEOUT,
                        World.TIMEOUT,
                        World.NPU,
                        Interop.TORCH,
                        Optional.empty(),
                        Optional.empty(),
                        Optional.empty(),
                        List.of(),
                        Optional.empty());
        try (HcclCommunicator communicator = HcclConnector.connect(config, HcclLibraries.get())) {
            assertThat(communicator).isNotNull();
            assertThat(store.check(List.of("0", "version_key"))).isTrue();
            assertThat(store.get("0")).hasSize(HcclConnector.ROOT_INFO_BYTES);
            assertThat(store.get("version_key")).isNotEmpty();
        }
    }
}
