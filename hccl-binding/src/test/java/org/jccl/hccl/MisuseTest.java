package org.jccl.hccl;

import static org.assertj.core.api.Assertions.assertThat;

import org.jccl.testing.Misuse;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Options, and what else is public here, called with wrong arguments. */
@Timeout(120)
@Tag("all")
final class MisuseTest {

    @Test
    void nothingPublicTakesWrongArgumentsBadly() {
        Misuse misuse =
                Misuse.ofBinding(new HcclProvider(), HcclOptions.defaults())
                        .with(HcclOptions.Builder.class, rank -> HcclOptions.builder());
        assertThat(misuse.faults(HcclProvider.class)).isEmpty();
    }
}
