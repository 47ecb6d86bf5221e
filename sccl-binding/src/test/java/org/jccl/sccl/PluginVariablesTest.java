package org.jccl.sccl;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.jna.NativeLibrary;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the vendor's plugin sets before it loads the libraries. */
final class PluginVariablesTest {

    @Test
    void theInstructionCacheIsOnWhereTheWheelHasItsLibrary(@TempDir Path folder)
            throws IOException {
        assertThat(PluginVariables.of("sg2260", folder, Map.of())).isEmpty();
        Path emulator = Files.createFile(folder.resolve("sg2260_cmodel_firmware.so"));
        assertThat(PluginVariables.of("sg2260", folder, Map.of()))
                .isEqualTo(Map.of("TPU_CACHE_BACKEND", emulator.toString()));
    }

    @Test
    void theEmulatorThatIsNamedMakesTheInstructions(@TempDir Path folder) throws IOException {
        Path emulator = Files.createFile(folder.resolve("libtpuv7_emulator.so"));
        Map<String, String> environment = Map.of("TPU_EMULATOR_PATH", emulator.toString());
        assertThat(PluginVariables.of("sg2260", folder, environment))
                .isEqualTo(Map.of("TPU_CACHE_BACKEND", emulator.toString()));
    }

    @Test
    void whatTheUserSetStays(@TempDir Path folder) throws IOException {
        Files.createFile(folder.resolve("sg2260e_cmodel_firmware.so"));
        assertThat(
                        PluginVariables.of(
                                "sg2260e",
                                folder,
                                Map.of("TPU_CACHE_BACKEND", "", "TPU_RT_CORE_NUM", "2")))
                .isEmpty();
        assertThat(PluginVariables.of("sg2260e", folder, Map.of("DISABLE_CACHE", "ON")))
                .isEqualTo(Map.of("TPU_RT_CORE_NUM", "4"));
    }

    @Test
    void nativeCodeSeesThem() {
        Map<String, String> variables = Map.of("JCCL_TEST_OF_PLUGIN_VARIABLES", "4");
        PluginVariables.set(variables);
        assertThat(nativeValue("JCCL_TEST_OF_PLUGIN_VARIABLES")).isEqualTo("4");
        PluginVariables.unset(variables);
        assertThat(nativeValue("JCCL_TEST_OF_PLUGIN_VARIABLES")).isNull();
    }

    private static String nativeValue(String name) {
        return NativeLibrary.getProcess()
                .getFunction("getenv")
                .invokeString(new Object[] {name}, false);
    }
}
