package org.jccl.nccl;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.util.Arrays;
import java.util.Map;
import java.util.stream.Collectors;
import org.jccl.Availability;
import org.jccl.BackendUnavailableException;
import org.jccl.DataType;
import org.jccl.spi.NativeLibraries;
import org.jccl.testing.ChildJvm;
import org.jccl.testing.Questions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Hosts where something is missing. */
@Execution(ExecutionMode.CONCURRENT)
final class NoCudaTest {

    /** Asks for memory that NCCL itself allocates. */
    static final class AskForMemory {

        private AskForMemory() {}

        public static void main(String[] arguments) {
            try {
                NcclMemory.allocate(World.GPU, DataType.FLOAT32, 1);
            } catch (BackendUnavailableException e) {
                System.out.println("refused: " + e.getMessage());
            }
        }
    }

    private static String ask(Map<String, String> environment, String... properties)
            throws Exception {
        return Questions.whyUnavailable("nccl", environment, properties);
    }

    @Test
    void missingDriverIsNamedWithWhereItWasLookedFor() throws Exception {
        String output = ask(Map.of(), "-Dorg.jccl.nccl.driver=/nowhere/libcuda.so.1");
        assertThat(output)
                .contains("libcuda.so.1 was not found; install the NVIDIA driver")
                .contains(
                        "/nowhere/libcuda.so.1 (system property org.jccl.nccl.driver): no such file");
    }

    @Test
    void missingNcclIsNamedWithWhatWasFoundBefore() throws Exception {
        String output = ask(Map.of(), "-Dorg.jccl.nccl.library=/nowhere/libnccl.so.2");
        assertThat(output)
                .contains("libnccl.so.2 was not found; install NCCL 2.19.3 or newer")
                .contains("libcudart.so.13 (system property org.jccl.nccl.cudart): loaded");
    }

    @Test
    void memoryOfNcclIsRefusedToo() throws Exception {
        String output =
                ChildJvm.outputOf(
                        AskForMemory.class,
                        Map.of(),
                        "-Dorg.jccl.nccl.library=/nowhere/libnccl.so.2");
        assertThat(output).contains("refused: ").contains("libnccl.so.2 was not found");
    }

    @Test
    void fileThatIsNoLibraryIsReportedWithTheLinkersWords() throws Exception {
        String output = ask(Map.of(), "-Dorg.jccl.nccl.library=/etc/passwd");
        assertThat(output).contains("/etc/passwd").contains("invalid ELF header");
    }

    @Test
    void hostWithoutDevicesIsUnavailable() throws Exception {
        assertThat(ask(Map.of("MOCK_DEVICES", "0"))).contains("device");
    }

    @Tag("mocked-nccl")
    @Test
    void ncclThatIsTooOldIsUnavailable() throws Exception {
        assertThat(ask(Map.of("MOCK_NCCL_VERSION", "21901")))
                .contains("NCCL 2.19.1 is too old; install 2.19.3 or newer");
    }

    /** As on a class path that was put together for another platform. */
    @Test
    void theMissingJarOfThisPlatformIsNamed() throws Exception {
        String platform = NativeLibraries.platform();
        String classPath = System.getProperty("java.class.path");
        String others =
                Arrays.stream(classPath.split(File.pathSeparator))
                        .filter(jar -> !jar.matches(".*/cuda-.*-" + platform + "[.]jar"))
                        .collect(Collectors.joining(File.pathSeparator));
        assertThat(others).isNotEqualTo(classPath);
        assertThat(ask(Map.of(), "-cp", others))
                .contains("the CUDA presets' part for " + platform + " is not here")
                .contains("add org.bytedeco:cuda with the classifier " + platform);
    }

    @Test
    void availabilityHasVersionAndPath() {
        Availability availability = new NcclProvider().availability();
        assertThat(availability).isInstanceOf(Availability.Available.class);
        Availability.Available available = (Availability.Available) availability;
        assertThat(available.version()).matches("2[.]\\d+[.]\\d+");
        assertThat(available.path()).isEqualTo(System.getProperty("org.jccl.nccl.library"));
    }
}
