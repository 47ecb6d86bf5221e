package org.jccl.nccl;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.stream.Collectors;
import org.jccl.Availability;
import org.jccl.BackendUnavailableException;
import org.jccl.DataType;
import org.jccl.NativeException;
import org.jccl.testing.ChildJvm;
import org.jccl.testing.Questions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Hosts where something is missing. */
@Execution(ExecutionMode.CONCURRENT)
@Tag("all")
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

    @Test
    void aWorldNeedsNoClassOfJavaCpp() throws Exception {
        String others =
                Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
                        .filter(jar -> !jar.matches(".*/javacpp-[^/]*[.]jar"))
                        .collect(Collectors.joining(File.pathSeparator));
        assertThat(ChildJvm.outputOf(Choose.class, Map.of(), "-cp", others))
                .contains("formed a world");
    }

    /** Prints which runtime was chosen. */
    static final class Choose {

        private Choose() {}

        public static void main(String[] arguments) {
            System.out.println(new NcclProvider().availability());
            System.out.println("runtime " + NcclNative.cudaRuntimeVersion());
            World.alone().close();
            System.out.println("formed a world");
        }
    }

    /** Prints why a world cannot be formed. */
    static final class Join {

        private Join() {}

        public static void main(String[] arguments) {
            try {
                World.alone().close();
            } catch (NativeException e) {
                System.out.println("refused: " + e.getMessage());
            }
        }
    }

    private static Path mocks() {
        return Path.of(System.getProperty(NcclLibrary.RUNTIME_13.property)).getParent();
    }

    private static String property(NcclLibrary library, String file) {
        return "-D" + library.property + "=" + mocks().resolve(file);
    }

    /** The runtime is looked for, not named. */
    private static String choose(String driver, String folders) throws Exception {
        return ChildJvm.outputOf(
                Choose.class,
                Map.of("MOCK_CUDA_DRIVER", driver, "LD_LIBRARY_PATH", folders),
                "-D" + NcclLibrary.RUNTIME_13.property + "=",
                property(NcclLibrary.NCCL, "cuda12/libnccl.so.2"));
    }

    @Test
    void runtimeThatIsNewerThanTheDriverIsNamedWithBothVersions() throws Exception {
        assertThat(ask(Map.of("MOCK_CUDA_DRIVER", "12040")))
                .contains("the runtime of CUDA 13.0 does not work with the driver")
                .contains("which supports CUDA up to 12.4")
                .contains("install the runtime of CUDA 12 (pip: nvidia-cuda-runtime-cu12)");
    }

    @Test
    void driverThatIsTooOldForEitherRuntimeIsNamed() throws Exception {
        assertThat(
                        ask(
                                Map.of("MOCK_CUDA_DRIVER", "11080"),
                                property(NcclLibrary.RUNTIME_12, "cuda12/libcudart.so.12")))
                .contains("the runtime of CUDA 12.9 does not work with the driver")
                .contains("which supports CUDA up to 11.8")
                .contains("install an NVIDIA driver of version 525 or newer");
    }

    @Test
    void hostWithoutADriverIsTold() throws Exception {
        assertThat(ask(Map.of("MOCK_CUDA_DRIVER", "0")))
                .contains("finds no NVIDIA driver (libcuda.so.1)")
                .contains("docker run --gpus all");
    }

    @Test
    void runtimeOf12IsTakenWhereTheDriverIsTooOldFor13() throws Exception {
        assertThat(choose("12000", mocks() + ":" + mocks().resolve("cuda12")))
                .contains("runtime 12090")
                .contains("formed a world");
    }

    @Test
    void runtimeOf12AloneIsFound() throws Exception {
        assertThat(choose("12000", mocks().resolve("cuda12").toString()))
                .contains("runtime 12090")
                .contains("formed a world");
    }

    /** Has a runtime loaded before the binding looks for one, as the presets of CUDA do. */
    static final class ChooseLoaded {

        private ChooseLoaded() {}

        public static void main(String[] arguments) {
            System.load(System.getProperty("test.loaded"));
            Choose.main(arguments);
        }
    }

    @Test
    void runtimeThatTheProgramHasLoadedIsUsedThoughThereIsANewerOne() throws Exception {
        assertThat(
                        ChildJvm.outputOf(
                                ChooseLoaded.class,
                                Map.of("LD_LIBRARY_PATH", mocks().toString()),
                                "-Dtest.loaded=" + mocks().resolve("cuda12/libcudart.so.12"),
                                "-D" + NcclLibrary.RUNTIME_13.property + "=",
                                property(NcclLibrary.NCCL, "cuda12/libnccl.so.2")))
                .contains("runtime 12090")
                .contains("formed a world");
    }

    /** The program has it for other reasons, or in error. */
    @Test
    void loadedRuntimeThatDoesNotWorkWithTheDriverIsLeftAlone() throws Exception {
        assertThat(
                        ChildJvm.outputOf(
                                ChooseLoaded.class,
                                Map.of(
                                        "MOCK_CUDA_DRIVER",
                                        "12000",
                                        "LD_LIBRARY_PATH",
                                        mocks().resolve("cuda12").toString()),
                                "-Dtest.loaded=" + mocks().resolve("libcudart.so.13"),
                                "-D" + NcclLibrary.RUNTIME_13.property + "=",
                                property(NcclLibrary.NCCL, "cuda12/libnccl.so.2")))
                .contains("runtime 12090")
                .contains("formed a world");
    }

    /** NCCL carries a runtime of its own, and does not tell its version. */
    @Test
    void ncclOfANewerCudaThanTheDriverIsExplained() throws Exception {
        assertThat(
                        ChildJvm.outputOf(
                                Join.class,
                                Map.of("MOCK_CUDA_DRIVER", "12040", "MOCK_NCCL_CUDA", "13000"),
                                property(NcclLibrary.RUNTIME_12, "cuda12/libcudart.so.12"),
                                property(NcclLibrary.NCCL, "cuda12/libnccl.so.2")))
                .contains("CUDA driver version is insufficient for CUDA runtime version")
                .contains("pip: nvidia-nccl-cu12");
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
