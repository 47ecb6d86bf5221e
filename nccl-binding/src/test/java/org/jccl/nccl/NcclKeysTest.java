package org.jccl.nccl;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class NcclKeysTest {

    @Test
    void aPairIsNamedFromTheLowerRank() {
        assertThat(NcclKeys.pair(3, 1)).isEqualTo("1:3").isEqualTo(NcclKeys.pair(1, 3));
    }
}
