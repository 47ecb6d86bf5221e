package org.jccl.mpi;

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

    private static final String ENTERS = "initialises MPI, which a process can do once only";

    @Test
    void nothingPublicTakesWrongArgumentsBadly() {
        Misuse misuse =
                new Misuse()
                        .with(Device.class, rank -> Device.CPU, rank -> new Device("abacus", 7))
                        .with(BackendOptions.class, rank -> MpiOptions.defaults())
                        .with(MpiOptions.class, rank -> MpiOptions.defaults())
                        .with(BackendProvider.class, rank -> new MpiProvider())
                        .with(MpiProvider.class, rank -> new MpiProvider())
                        .without("HugePages.free", LOW)
                        .without("MpiProvider.world", ENTERS)
                        .without("MpiProvider.takesCuda", ENTERS)
                        .without("MpiProvider.create", LOW);
        assertThat(misuse.faults(MpiProvider.class)).isEmpty();
    }
}
