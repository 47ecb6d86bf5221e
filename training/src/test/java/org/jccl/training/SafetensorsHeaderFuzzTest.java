package org.jccl.training;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import java.util.Arrays;

/** Any bytes are a header, which comes back when it is written, or are refused. */
final class SafetensorsHeaderFuzzTest {

    private static final long DATA_BYTES = 8;

    @FuzzTest
    void readsOrRefuses(byte[] bytes) throws Exception {
        SafetensorsHeader header;
        try {
            header = SafetensorsHeader.read(bytes, DATA_BYTES);
        } catch (SafetensorsHeader.Fault refused) {
            assertThat(refused).hasMessageMatching("(?s).+");
            return;
        }
        for (SafetensorsHeader.Entry entry : header.tensors().values()) {
            assertThat(entry.begin()).isBetween(0L, entry.end());
            assertThat(entry.end()).isLessThanOrEqualTo(DATA_BYTES);
        }
        byte[] written = header.write();
        byte[] text = Arrays.copyOfRange(written, SafetensorsHeader.PREFIX, written.length);
        assertThat(SafetensorsHeader.read(text, DATA_BYTES)).isEqualTo(header);
    }
}
