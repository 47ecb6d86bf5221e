package org.jccl;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;

/** Any bytes are a pickle of bytes or are refused. */
class PickledBytesFuzzTest {

    @FuzzTest
    void readsOrRefuses(byte[] bytes) {
        assertThat(PickledBytes.decode(PickledBytes.encode(bytes))).isEqualTo(bytes);
        try {
            byte[] value = PickledBytes.decode(bytes);
            assertThat(value.length).isLessThan(bytes.length);
        } catch (UsageException refused) {
            assertThat(refused).hasMessageContaining("not bytes");
        }
    }
}
