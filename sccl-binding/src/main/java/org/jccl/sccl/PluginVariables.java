package org.jccl.sccl;

import com.sun.jna.NativeLibrary;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jccl.FailureContext;
import org.jccl.NativeException;
import org.jccl.spi.PathSetting;

/**
 * The environment variables that the vendor's plugin for PyTorch sets when Python imports it. The
 * libraries read them from the process. A variable that the user has set is not changed. {@link
 * System#getenv} does not show them, because it is a copy from the start of the process.
 */
final class PluginVariables {

    private PluginVariables() {}

    /** The variables to set for a libtpudnn, by its chip and folder. */
    static Map<String, String> of(String chip, Path folder, Map<String, String> environment) {
        Map<String, String> missing = new LinkedHashMap<>();
        boolean caching = environment.getOrDefault("DISABLE_CACHE", "").isEmpty();
        if (caching && !environment.containsKey("TPU_CACHE_BACKEND")) {
            // The library that makes the cached instructions.
            String emulator = environment.getOrDefault("TPU_EMULATOR_PATH", "");
            Path backend =
                    emulator.isEmpty()
                            ? folder.resolve(chip + "_cmodel_firmware.so")
                            : PathSetting.of("environment variable TPU_EMULATOR_PATH", emulator);
            if (Files.isReadable(backend)) {
                missing.put("TPU_CACHE_BACKEND", backend.toString());
            }
        }
        if (chip.equals("sg2260e") && !environment.containsKey("TPU_RT_CORE_NUM")) {
            // The runtime assumes eight cores for every chip.
            missing.put("TPU_RT_CORE_NUM", "4");
        }
        return missing;
    }

    /** Sets variables of this process. Call it before a library that reads them is loaded. */
    static void set(Map<String, String> variables) {
        variables.forEach(
                (name, value) ->
                        require("setenv", name, call("setenv", new Object[] {name, value, 1})));
    }

    /** Removes variables that {@link #set} has set. */
    static void unset(Map<String, String> variables) {
        variables
                .keySet()
                .forEach(name -> require("unsetenv", name, call("unsetenv", new Object[] {name})));
    }

    private static int call(String function, Object[] arguments) {
        return NativeLibrary.getProcess().getFunction(function).invokeInt(arguments);
    }

    private static void require(String function, String name, int code) {
        if (code != 0) {
            throw new NativeException(
                    FailureContext.NONE, "libc", code, function + " rejected the variable " + name);
        }
    }
}
