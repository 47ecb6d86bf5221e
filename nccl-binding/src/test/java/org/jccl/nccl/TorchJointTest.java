package org.jccl.nccl;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jccl.testing.TorchPython;
import org.junit.jupiter.api.Test;

/**
 * The joint communicator of the hardware test, as it is started there, with PyTorch's own stores;
 * what is of CUDA in the script calls the mock.
 */
final class TorchJointTest {

    private static final Path SMOKE = Path.of("..", "script", "hardware", "nccl");

    /** The Java rank, as the script starts it. */
    private static List<String> java() {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of("-cp", System.getProperty("java.class.path")));
        System.getProperties()
                .forEach(
                        (name, value) -> {
                            // The script hands on the NCCL and the runtime that Python has loaded.
                            if (name.toString().matches("org.jccl.nccl.(library|cudart)")) {
                                return;
                            }
                            if (name.toString().startsWith("org.jccl.")
                                    || name.toString().startsWith("org.bytedeco.")) {
                                command.add("-D" + name + "=" + value);
                            }
                        });
        command.add(JointRank.class.getName());
        return command;
    }

    @Test
    void aRankOfPyTorchsAndOneOfJavaComputeTogether() throws Exception {
        Path mocks = Path.of(TorchJointTest.class.getResource("torch_on_mocks.py").toURI());
        List<String> command = new ArrayList<>();
        command.add(SMOKE.resolve("shared_device.sh").toString());
        command.addAll(List.of(TorchPython.require(), "-W", "ignore", mocks.toString()));
        for (NcclLibrary library :
                List.of(NcclLibrary.DRIVER, NcclLibrary.RUNTIME_13, NcclLibrary.NCCL)) {
            command.add(System.getProperty(library.property));
        }
        command.add(SMOKE.resolve("torch_joint.py").toString());
        command.addAll(java());
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        builder.environment().put("TORCH_CPP_LOG_LEVEL", "ERROR");
        Process joint = builder.start();
        try {
            String output =
                    new String(joint.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            assertThat(output).contains("Python rank 1: all right", "Java rank 0: all right");
            assertThat(joint.waitFor()).isZero();
        } finally {
            joint.descendants().forEach(ProcessHandle::destroyForcibly);
            joint.destroyForcibly();
        }
    }
}
