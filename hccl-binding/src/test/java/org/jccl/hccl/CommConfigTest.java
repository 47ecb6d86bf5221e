package org.jccl.hccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import org.jccl.UsageException;
import org.jccl.hccl.HcclOptions.Determinism;
import org.jccl.hccl.HcclOptions.Expansion;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The bytes that HCCL reads, at the offsets of its headers. */
final class CommConfigTest {

    private static final int NEWEST = 12;

    /** The capability of which releases that know determinism have more. */
    private static final int WORLD_RANK = 5;

    private static ByteBuffer bytes(HcclOptions options, int capability) {
        return bytes(options, capability, Map.of());
    }

    private static ByteBuffer bytes(
            HcclOptions options, int capability, Map<String, String> environment) {
        return bytes(options, capability, capability > WORLD_RANK, environment);
    }

    private static ByteBuffer bytes(
            HcclOptions options,
            int capability,
            boolean knowsDeterminism,
            Map<String, String> environment) {
        CommConfig config =
                new CommConfig(
                        options, "world/0,2", false, capability, knowsDeterminism, environment);
        return ByteBuffer.wrap(config.bytes()).order(ByteOrder.LITTLE_ENDIAN);
    }

    private static String text(ByteBuffer bytes, int offset) {
        StringBuilder text = new StringBuilder();
        for (int i = offset; bytes.get(i) != 0; i++) {
            text.append((char) bytes.get(i));
        }
        return text.toString();
    }

    private static void expectVersion(ByteBuffer bytes, int version, int size) {
        assertThat(bytes.getLong(0)).as("size").isEqualTo(size);
        assertThat(bytes.getInt(8)).as("magic").isEqualTo(0xF0F0F0F0);
        assertThat(bytes.getInt(12)).as("version").isEqualTo(version);
        assertThat(bytes.getLong(16)).as("reserved").isZero();
    }

    @ParameterizedTest
    @ValueSource(ints = {WORLD_RANK, NEWEST})
    void whatIsNotWantedIsNotSetUpToTheEndOfTheNewestVersion(int capability) {
        ByteBuffer bytes = bytes(HcclOptions.defaults(), capability);
        assertThat(bytes.capacity()).isEqualTo(2248);
        assertThat(bytes.getInt(288)).as("expansion mode").isZero();
        assertThat(bytes.getInt(292)).as("traffic class").isEqualTo(-1);
        assertThat(bytes.getInt(296)).as("service level").isEqualTo(-1);
        assertThat(bytes.getInt(300)).as("world rank").isZero();
        assertThat(bytes.getLong(304)).as("job").isZero();
        assertThat(bytes.get(312)).as("zero copy").isZero();
        assertThat(bytes.getInt(316)).as("execution timeout").isEqualTo(-1);
        assertThat(bytes.get(320)).as("algorithm").isZero();
        assertThat(bytes.get(1920)).as("retry enable").isZero();
        assertThat(bytes.get(1970)).as("retry parameters").isZero();
        assertThat(bytes.get(2098)).as("buffer name").isZero();
        assertThat(bytes.getInt(2228)).as("qos").isEqualTo(-1);
        assertThat(bytes.getLong(2232)).as("symmetric window").isEqualTo(16);
        assertThat(bytes.getInt(2240)).as("channel depth").isEqualTo(-1);
    }

    @ParameterizedTest
    @CsvSource({"true, 1", "TRUE, 1", "strict, 1", "false, 0", "'', 0"})
    void environmentCountsWhereTheLibraryCanNotBeLeftToIt(String deterministic, int number) {
        Map<String, String> environment =
                Map.of("HCCL_BUFFSIZE", "64", "HCCL_DETERMINISTIC", deterministic);
        ByteBuffer bytes = bytes(HcclOptions.defaults(), 5, environment);
        assertThat(bytes.getInt(24)).as("8.1 takes its size from there").isEqualTo(-1);
        assertThat(bytes.getInt(28)).as("but goes astray without this").isEqualTo(number);
        bytes = bytes(HcclOptions.defaults(), 5, true, environment);
        assertThat(bytes.getInt(24)).isEqualTo(-1);
        assertThat(bytes.getInt(28)).isEqualTo(-1);
    }

    private static int bufferOfPart(HcclOptions options, Map<String, String> environment) {
        CommConfig config = new CommConfig(options, "world/0,2", true, NEWEST, true, environment);
        return ByteBuffer.wrap(config.bytes()).order(ByteOrder.LITTLE_ENDIAN).getInt(24);
    }

    @Test
    void partsGetSmallBuffersUnlessSomethingIsGiven() {
        HcclOptions none = HcclOptions.defaults();
        Map<String, String> environment = Map.of("HCCL_BUFFSIZE", "300");
        assertThat(bufferOfPart(none, Map.of())).isEqualTo(50);
        assertThat(bufferOfPart(none, environment)).as("leave it to HCCL").isEqualTo(-1);
        HcclOptions all = HcclOptions.builder().bufferMegabytes(100).build();
        assertThat(bufferOfPart(all, environment)).isEqualTo(100);
        HcclOptions parts =
                HcclOptions.builder().bufferMegabytes(100).subGroupBufferMegabytes(20).build();
        assertThat(bufferOfPart(parts, environment)).isEqualTo(20);
        assertThat(bytes(parts, NEWEST, environment).getInt(24)).as("the world").isEqualTo(100);
    }

    @Test
    void optionsGoBeforeTheEnvironment() {
        HcclOptions options =
                HcclOptions.builder().bufferMegabytes(20).determinism(Determinism.ON).build();
        Map<String, String> environment =
                Map.of("HCCL_BUFFSIZE", "64", "HCCL_DETERMINISTIC", "false");
        ByteBuffer bytes = bytes(options, WORLD_RANK, environment);
        assertThat(bytes.getInt(24)).isEqualTo(20);
        assertThat(bytes.getInt(28)).isEqualTo(1);
        options = HcclOptions.builder().determinism(Determinism.STRICT).build();
        assertThat(bytes(options, NEWEST, environment).getInt(28)).isEqualTo(2);
    }

    @Test
    void groupIsDescribed() {
        ByteBuffer bytes = bytes(HcclOptions.defaults(), WORLD_RANK);
        expectVersion(bytes, 3, 288);
        assertThat(text(bytes, 160)).isEqualTo("world/0,2");
        assertThat(bytes.get(32)).as("name, which must be unique in a process").isZero();
        CommConfig config =
                new CommConfig(
                        HcclOptions.defaults(),
                        "g".repeat(999),
                        false,
                        WORLD_RANK,
                        false,
                        Map.of());
        assertThat(new String(config.bytes(), 160, 128, StandardCharsets.US_ASCII))
                .isEqualTo("g".repeat(127) + "\0");
    }

    @Test
    void oldestVersionThatHasWhatIsWantedIsAnnounced() {
        HcclOptions.Builder options = HcclOptions.builder().expansion(Expansion.AIV);
        ByteBuffer bytes = bytes(options.build(), NEWEST);
        expectVersion(bytes, 4, 292);
        assertThat(bytes.getInt(288)).isEqualTo(3);

        bytes = bytes(options.trafficClass(132).serviceLevel(4).build(), NEWEST);
        expectVersion(bytes, 5, 300);
        assertThat(bytes.getInt(292)).isEqualTo(132);
        assertThat(bytes.getInt(296)).isEqualTo(4);

        bytes = bytes(options.executionTimeout(Duration.ofMinutes(2)).build(), NEWEST);
        expectVersion(bytes, 8, 2104);
        assertThat(bytes.getInt(316)).isEqualTo(120);

        bytes = bytes(HcclOptions.builder().algorithm("level0:NA").build(), NEWEST);
        expectVersion(bytes, 8, 2104);
        assertThat(text(bytes, 320)).isEqualTo("level0:NA");
    }

    @Test
    void optionThatTheLibraryLacksIsRefused() {
        refused(
                HcclOptions.builder().determinism(Determinism.STRICT),
                WORLD_RANK,
                "determinism STRICT");
        refused(
                HcclOptions.builder().executionTimeout(Duration.ofSeconds(1)),
                8,
                "executionTimeout");
        refused(HcclOptions.builder().algorithm("x"), 9, "algorithm");
    }

    private static void refused(HcclOptions.Builder builder, int capability, String name) {
        HcclOptions options = builder.build();
        assertThatThrownBy(() -> bytes(options, capability))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("too old for " + name);
        bytes(options, capability + 1);
    }
}
