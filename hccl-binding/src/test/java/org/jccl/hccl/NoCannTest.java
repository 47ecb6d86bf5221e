package org.jccl.hccl;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.jccl.Availability;
import org.jccl.BackendUnavailableException;
import org.jccl.DataType;
import org.jccl.ProcessGroup;
import org.jccl.Tensor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Hosts where something is missing. */
final class NoCannTest {

    /** Asks in every way there is, twice, and prints the answers. */
    static final class Ask {

        private Ask() {}

        public static void main(String[] arguments) {
            for (int i = 0; i < 2; i++) {
                System.out.println(new HcclProvider().availability());
                refused(() -> ProcessGroup.builder().backend("hccl").rank(0).worldSize(1).build());
                refused(() -> Tensor.allocate(World.NPU, DataType.FLOAT32, 1));
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
    void missingRuntimeIsNamedWithWhereItWasLookedFor() throws Exception {
        assertThat(ask(Map.of(), "-Dorg.jccl.hccl.acl=/nowhere/libascendcl.so"))
                .contains("libascendcl.so was not found; install CANN and source its set_env.sh")
                .contains(
                        "/nowhere/libascendcl.so (system property org.jccl.hccl.acl): no such"
                                + " file");
    }

    @Test
    void missingHcclIsNamedWithWhatWasFoundBefore() throws Exception {
        assertThat(ask(Map.of(), "-Dorg.jccl.hccl.library=/nowhere/libhccl.so"))
                .contains("libhccl.so was not found")
                .contains("libascendcl.so (system property org.jccl.hccl.acl): loaded");
    }

    @Test
    void fileThatIsNoLibraryIsReportedWithTheLinkersWords() throws Exception {
        assertThat(ask(Map.of(), "-Dorg.jccl.hccl.library=/etc/passwd"))
                .contains("/etc/passwd")
                .contains("invalid ELF header");
    }

    @Test
    void libraryOfSomethingElseIsRefused(@TempDir Path root) throws Exception {
        Path other =
                Files.copy(
                        Path.of(System.getProperty(CannFile.ACL.property)),
                        root.resolve("libhccl.so"));
        assertThat(ask(Map.of(), "-Dorg.jccl.hccl.library=" + other))
                .contains("the libraries lack HcclGetRootInfo; install CANN 7.0 or newer");
    }

    @Test
    void stubForLinkingIsRefused(@TempDir Path root) throws Exception {
        Path stubs = Files.createDirectories(root.resolve("devlib"));
        Path stub =
                Files.copy(
                        Path.of(System.getProperty(CannFile.HCCL.property)),
                        stubs.resolve("libhccl.so"));
        assertThat(ask(Map.of(), "-Dorg.jccl.hccl.library=" + stub)).contains("a stub for linking");
    }

    @Test
    void hostWithoutDevicesIsUnavailable() throws Exception {
        assertThat(ask(Map.of("MOCK_DEVICES", "0"))).contains("no device");
    }

    @Test
    void availabilityHasVersionAndPath() {
        Availability availability = new HcclProvider().availability();
        assertThat(availability).isInstanceOf(Availability.Available.class);
        Availability.Available available = (Availability.Available) availability;
        assertThat(available.version()).matches("\\d+[.]\\d+[.]\\w+|before 8[.]1");
        assertThat(available.path()).isEqualTo(System.getProperty(CannFile.HCCL.property));
    }
}
