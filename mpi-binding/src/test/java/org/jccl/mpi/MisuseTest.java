package org.jccl.mpi;

import static org.assertj.core.api.Assertions.assertThat;

import org.jccl.testing.Misuse;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Options, and what else is public here, called with wrong arguments. */
@Timeout(120)
@Tag("all")
final class MisuseTest {

    private static final String ENTERS = "initialises MPI, which a process can do once only";

    @Test
    void nothingPublicTakesWrongArgumentsBadly() {
        Misuse misuse =
                Misuse.ofBinding(new MpiProvider(), MpiOptions.defaults())
                        .without("HugePages.free", "takes an address that it has given out")
                        .without("MpiProvider.world", ENTERS)
                        .without("MpiProvider.takesCuda", ENTERS);
        assertThat(misuse.faults(MpiProvider.class)).isEmpty();
    }
}
