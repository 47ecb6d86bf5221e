package org.jccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Arrays;
import java.util.HexFormat;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Pickles as Python 3.11 wrote them. */
@Timeout(60)
class PickledBytesTest {

    /** pickle.dumps(b"abc", protocol=...). */
    @ParameterizedTest(name = "protocol {0}")
    @CsvSource({
        "3, 8003430361626371002e",
        "4, 80049507000000000000004303616263942e",
        "5, 80059507000000000000004303616263942e"
    })
    void readsWhatPythonWrites(int protocol, String pickle) {
        assertThat(PickledBytes.decode(HexFormat.of().parseHex(pickle)))
                .containsExactly("abc".getBytes());
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 255, 256, 100_000})
    void readsWhatItWrites(int size) {
        byte[] value = new byte[size];
        Arrays.fill(value, (byte) '.');
        assertThat(PickledBytes.decode(PickledBytes.encode(value))).isEqualTo(value);
    }

    /**
     * pickle.dumps of "abc", None, 7, (b"a", b"b") and os.system, and pickles with their end cut
     * off.
     */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "80049507000000000000008c03616263942e",
                "80044e2e",
                "80044b072e",
                "8004950b00000000000000430161944301629486942e",
                "80049514000000000000008c05706f736978948c0673797374656d9493942e",
                "80049507000000000000004303616263",
                "800495070000000000000043ff616263942e",
                "80038effffffffffffffff2e",
                "80032e",
                ""
            })
    void refusesAnythingElse(String pickle) {
        byte[] bytes = HexFormat.of().parseHex(pickle);
        assertThatThrownBy(() -> PickledBytes.decode(bytes))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("not bytes");
    }

    @Test
    void writesAPickleOfProtocolThree() {
        assertThat(HexFormat.of().formatHex(PickledBytes.encode("abc".getBytes())))
                .isEqualTo("800342030000006162632e");
    }
}
