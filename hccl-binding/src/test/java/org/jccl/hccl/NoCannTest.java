package org.jccl.hccl;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.jccl.Availability;
import org.jccl.testing.Questions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Hosts where something is missing. */
@Execution(ExecutionMode.CONCURRENT)
final class NoCannTest {

    private static String ask(Map<String, String> environment, String... properties)
            throws Exception {
        return Questions.whyUnavailable("hccl", environment, properties);
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
                        Path.of(System.getProperty(HcclLibrary.ACL.property)),
                        root.resolve("libhccl.so"));
        assertThat(ask(Map.of(), "-Dorg.jccl.hccl.library=" + other))
                .contains("the libraries lack HcclGetRootInfo, which CANN has since 8.1");
    }

    @Test
    void olderReleasesAreRefused() throws Exception {
        String folder = System.getProperty("jccl.mocks") + "/cann-8.0";
        assertThat(
                        ask(
                                Map.of(),
                                "-Dorg.jccl.hccl.acl=" + folder + "/libascendcl.so",
                                "-Dorg.jccl.hccl.library=" + folder + "/libhccl.so"))
                .contains("the libraries lack aclsysGetCANNVersion, which CANN has since 8.1")
                .contains("install CANN 8.1 or newer");
    }

    /** A broadcast there reports success and does nothing. */
    @Test
    void devicesForInferenceAreRefused() throws Exception {
        assertThat(ask(Map.of("MOCK_HCCL_CHIP", "310P")))
                .contains("Ascend310P3 is a device for inference")
                .contains("use a device for training");
    }

    @Test
    void stubForLinkingIsRefused(@TempDir Path root) throws Exception {
        Path stubs = Files.createDirectories(root.resolve("devlib"));
        Path stub =
                Files.copy(
                        Path.of(System.getProperty(HcclLibrary.HCCL.property)),
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
        assertThat(available.version()).matches("\\d+[.]\\d+[.]\\w+");
        assertThat(available.path()).isEqualTo(System.getProperty(HcclLibrary.HCCL.property));
    }
}
