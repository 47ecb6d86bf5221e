package org.jccl.sccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import org.jccl.NativeException;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Where kernels come from: a file, or the plugin's library, which cannot be loaded here. */
final class KernelModuleTest {

    private static final Path FOLDER =
            Path.of(System.getProperty("org.jccl.sccl.tpudnn")).getParent();

    private static final Path PLUGIN = FOLDER.resolve("libtorch_tpu.sg2260.so");

    @BeforeAll
    static void loadLibraries() {
        assertThat(ScclLibraries.get().availability().isAvailable()).isTrue();
    }

    private static DeviceThread thread() {
        return ScclLibraries.get().runtime().device(0).thread;
    }

    private static long load(KernelModule module) {
        long stream = StreamTest.nativeStream(World.tpu(0));
        return thread().get(() -> module.load(stream));
    }

    @Test
    void thePluginsKernelsAreReadWithoutLoadingIt() throws IOException {
        assertThatThrownBy(() -> System.load(PLUGIN.toAbsolutePath().toString()))
                .isInstanceOf(UnsatisfiedLinkError.class);
        KernelModule module = KernelModule.insideOf(PLUGIN).orElseThrow();
        assertThat(load(module)).isNotZero();
        try (SharedObject plugin = SharedObject.open(PLUGIN)) {
            byte[] content =
                    plugin.between(
                                    "_binary_torch_tpu_kernel_data_start",
                                    "_binary_torch_tpu_kernel_data_end")
                            .orElseThrow()
                            .array();
            assertThat(new String(content, StandardCharsets.US_ASCII))
                    .isEqualTo("mock kernels for sg2260");
        }
    }

    @Test
    void aLibraryWithoutKernelsHasNone() throws IOException {
        assertThat(KernelModule.insideOf(FOLDER.resolve("libsccl.so"))).isEmpty();
    }

    @Test
    void aFileOfKernelsIsLoadedByTheRuntime() {
        assertThat(load(KernelModule.ofFile(Path.of("pom.xml")))).isNotZero();
    }

    @Test
    void aMissingFileOfKernelsIsNamed() {
        KernelModule missing = KernelModule.ofFile(Path.of("/nowhere/kernels.so"));
        assertThatThrownBy(() -> load(missing))
                .isInstanceOf(NativeException.class)
                .hasMessageContaining("/nowhere/kernels.so")
                .hasMessageContaining("TPUKERNEL_FIRMWARE_PATH");
    }

    @Test
    void whatIsNoLibraryIsRefused(@TempDir Path folder) throws IOException {
        Path text = Files.writeString(folder.resolve("libtorch_tpu.so"), "#".repeat(4096));
        assertThatThrownBy(() -> KernelModule.insideOf(text))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("is not a 64-bit little-endian ELF library");
        Files.writeString(text, "");
        assertThatThrownBy(() -> KernelModule.insideOf(text)).isInstanceOf(IOException.class);
    }

    @Test
    void aDamagedLibraryIsAnErrorOrHasOtherContentButNeverHangs(@TempDir Path folder)
            throws IOException {
        byte[] whole = Files.readAllBytes(PLUGIN);
        Random random = new Random(7);
        for (int round = 0; round < 2000; round++) {
            byte[] damaged = whole.clone();
            for (int flips = 0; flips < 4; flips++) {
                // In the header half of the time, which is where the tables are named.
                int place = random.nextInt(random.nextBoolean() ? 64 : damaged.length);
                damaged[place] = (byte) random.nextInt(256);
            }
            Path file = Files.write(folder.resolve("damaged.so"), damaged);
            try {
                KernelModule.insideOf(file);
            } catch (IOException e) {
                assertThat(e).hasMessageContaining("damaged.so");
            }
        }
    }
}
