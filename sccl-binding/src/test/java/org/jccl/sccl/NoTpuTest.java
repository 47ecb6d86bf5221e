package org.jccl.sccl;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.jccl.Availability;
import org.jccl.testing.Questions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Hosts where something is missing. */
@Execution(ExecutionMode.CONCURRENT)
final class NoTpuTest {

    private static String ask(Map<String, String> environment, String... properties)
            throws Exception {
        return Questions.whyUnavailable("sccl", environment, properties);
    }

    @Test
    void missingLibraryIsNamedWithWhereItWasLookedFor() throws Exception {
        assertThat(ask(Map.of(), "-Dorg.jccl.sccl.tpudnn=/nowhere/libtpudnn.so"))
                .contains("libtpudnn was not found; install Sophgo's torch_tpu or TPU SDK")
                .contains(
                        "/nowhere/libtpudnn.so (system property org.jccl.sccl.tpudnn): no such"
                                + " file");
    }

    @Test
    void withoutPropertiesAllChipsAreLookedForInTheUsualPlaces() throws Exception {
        String output =
                ask(
                        Map.of(
                                "LD_LIBRARY_PATH",
                                "/nowhere/driver",
                                "VIRTUAL_ENV",
                                "/nowhere/venv"),
                        "-Dorg.jccl.sccl.tpudnn=");
        assertThat(output)
                .contains("/nowhere/driver/libtpudnn.sg2260.so (LD_LIBRARY_PATH)")
                .contains("/nowhere/driver/libtpudnn.bm1684x.so (LD_LIBRARY_PATH)")
                .contains("/nowhere/venv/lib/libtpudnn.sg2260.so (VIRTUAL_ENV, which has no Python")
                .contains("libtpudnn.so (dynamic linker): no such file");
    }

    @Test
    void aChipThatIsNamedIsTheOnlyOne() throws Exception {
        String output =
                ask(
                        Map.of("LD_LIBRARY_PATH", "/nowhere", "CHIP_ARCH", "bm1686"),
                        "-Dorg.jccl.sccl.tpudnn=");
        assertThat(output)
                .contains("/nowhere/libtpudnn.bm1686.so")
                .doesNotContain("libtpudnn.sg2260.so");
    }

    @Test
    void missingScclIsNamedWithWhatWasFoundBefore() throws Exception {
        assertThat(ask(Map.of(), "-Dorg.jccl.sccl.library=/nowhere/libsccl.so"))
                .contains("libsccl.so was not found")
                .contains("(system property org.jccl.sccl.tpudnn): loaded")
                .contains("(system property org.jccl.sccl.tpurt): loaded");
    }

    @Test
    void fileThatIsNoLibraryIsReportedWithTheLinkersWords() throws Exception {
        assertThat(ask(Map.of(), "-Dorg.jccl.sccl.library=/etc/passwd"))
                .contains("/etc/passwd")
                .contains("invalid ELF header");
    }

    @Test
    void aLibraryOfAnotherMakeIsReportedWithTheFunctionItLacks() throws Exception {
        String dnn = System.getProperty("org.jccl.sccl.tpudnn");
        assertThat(ask(Map.of(), "-Dorg.jccl.sccl.library=" + dnn))
                .contains("the libraries do not work")
                .contains("sccl");
    }

    @Test
    void hostWithoutDevicesIsUnavailable() throws Exception {
        assertThat(ask(Map.of("MOCK_DEVICES", "0"))).contains("there is no TPU");
    }

    @Test
    void availabilityHasPathAndChip() {
        Availability availability = new ScclProvider().availability();
        assertThat(availability).isInstanceOf(Availability.Available.class);
        Availability.Available available = (Availability.Available) availability;
        assertThat(available.version()).contains("sg2260");
        assertThat(available.path()).isEqualTo(System.getProperty("org.jccl.sccl.library"));
    }
}
