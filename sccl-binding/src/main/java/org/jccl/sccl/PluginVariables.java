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
 * The environment variables that the vendor's plugin for PyTorch sets when it is imported, because
 * the libraries read them from the process. What the user has set stays. Java's own view of the
 * environment is a copy from the start of the process, and does not show them.
 */
final class PluginVariables {

    private PluginVariables() {}

    /** What to set for libtpudnn of a chip in a folder, besides what the environment has. */
    static Map<String, String> of(String chip, Path folder, Map<String, String> environment) {
        Map<String, String> missing = new LinkedHashMap<>();
        boolean caching = environment.getOrDefault("DISABLE_CACHE", "").isEmpty();
        if (caching && !environment.containsKey("TPU_CACHE_BACKEND")) {
            // The library that makes the instructions which the cache keeps.
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
            // The runtime takes every chip for one with eight cores.
            missing.put("TPU_RT_CORE_NUM", "4");
        }
        return missing;
    }

    /** Sets variables of this process; before any library that reads them is loaded. */
    static void set(Map<String, String> variables) {
        variables.forEach(
                (name, value) ->
                        require("setenv", name, call("setenv", new Object[] {name, value, 1})));
    }

    /** Takes variables back that {@link #set} has set. */
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
                    FailureContext.NONE, "libc", code, function + " refused the variable " + name);
        }
    }
}
