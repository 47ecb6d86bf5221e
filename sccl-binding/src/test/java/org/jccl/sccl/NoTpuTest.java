package org.jccl.sccl;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.jccl.Availability;
import org.jccl.BackendUnavailableException;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.ProcessGroup;
import org.jccl.Tensor;
import org.junit.jupiter.api.Test;

/** Hosts where something is missing. */
final class NoTpuTest {

    /** Asks in every way there is, twice, and prints the answers. */
    static final class Ask {

        private Ask() {}

        public static void main(String[] arguments) {
            for (int i = 0; i < 2; i++) {
                System.out.println(new ScclProvider().availability());
                refused(() -> ProcessGroup.builder().backend("sccl").rank(0).worldSize(1).build());
                refused(() -> Tensor.allocate(new Device("tpu", 0), DataType.FLOAT32, 1));
            }
        }

        private static void refused(Runnable call) {
            try {
                call.run();
                System.out.println("not refused");
            } catch (BackendUnavailableException e) {
                System.out.println("refused: " + e.getMessage());
            }
        }
    }

    private static String ask(Map<String, String> environment, String... properties)
            throws Exception {
        Child.Result result = Child.run(Ask.class, environment, properties);
        assertThat(result.code()).as(result.output()).isZero();
        assertThat(result.output()).contains("Unavailable[").doesNotContain("not refused");
        return result.output();
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
