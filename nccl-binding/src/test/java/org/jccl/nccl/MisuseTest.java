package org.jccl.nccl;

import static org.assertj.core.api.Assertions.assertThat;

import org.jccl.BackendOptions;
import org.jccl.Device;
import org.jccl.spi.BackendProvider;
import org.jccl.testing.Misuse;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Options, and what else is public here, called with wrong arguments. */
@Timeout(120)
final class MisuseTest {

    private static final String LOW =
            "works on addresses and configurations of engines, which have checked them";

    @Test
    void nothingPublicTakesWrongArgumentsBadly() {
        Misuse misuse =
                new Misuse()
                        .with(Device.class, rank -> Device.CPU, rank -> new Device("abacus", 7))
                        .with(BackendOptions.class, rank -> NcclOptions.defaults())
                        .with(NcclOptions.class, rank -> NcclOptions.defaults())
                        .with(BackendProvider.class, rank -> new NcclProvider())
                        .with(NcclProvider.class, rank -> new NcclProvider())
                        .without("NcclProvider.create", LOW);
        assertThat(misuse.faults(NcclProvider.class)).isEmpty();
    }
}
