package org.jccl.gloo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Optional;
import org.jccl.Device;
import org.jccl.ProcessGroup;
import org.jccl.ProcessGroupBuilder;
import org.jccl.UsageException;
import org.jccl.store.HashStore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.NullSource;
import org.junit.jupiter.params.provider.ValueSource;

final class GlooOptionsTest {

    @ParameterizedTest
    @NullSource
    @ValueSource(strings = {"", " "})
    void aNameIsNotBlank(String name) {
        assertThatThrownBy(() -> GlooOptions.onHost(name)).isInstanceOf(UsageException.class);
        assertThatThrownBy(() -> GlooOptions.onInterface(name)).isInstanceOf(UsageException.class);
    }

    @Test
    void nothingIsNull() {
        assertThatThrownBy(() -> new GlooOptions(null, Optional.empty()))
                .isInstanceOf(UsageException.class);
        assertThatThrownBy(() -> new GlooOptions(Optional.empty(), null))
                .isInstanceOf(UsageException.class);
    }

    private static ProcessGroupBuilder builder(String backend, Device device) {
        return ProcessGroup.builder()
                .backend(backend)
                .device(device)
                .store(HashStore.create(Ranks.TIMEOUT))
                .rank(0)
                .worldSize(1)
                .options(GlooOptions.onHost("127.0.0.1"));
    }

    /** The group would be one for host memory otherwise, and nobody would know. */
    @ParameterizedTest
    @ValueSource(strings = {"gloo", "GLOO", "cpu:gloo"})
    void aDeviceThatNoBackendTakesIsRefused(String backend) {
        assertThatThrownBy(builder(backend, new Device("cuda", 0))::build)
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("no backend of the group takes the device cuda:0")
                .hasMessageContaining("gloo on cpu");
        try (ProcessGroup group = builder(backend, Device.CPU).build()) {
            assertThat(group.backend("cpu")).contains("gloo");
        }
    }
}
