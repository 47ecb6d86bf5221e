package org.jccl.store;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.net.URISyntaxException;
import java.net.URL;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jccl.torch.TorchPython;

/** A Python process with torch. */
final class Torch implements AutoCloseable {

    private final Process process;
    private final BufferedReader output;

    private Torch(Process process) {
        this.process = process;
        this.output = process.inputReader();
    }

    /** Runs the script beside this class; without torch the calling test is skipped. */
    static Torch start(String... arguments) throws Exception {
        List<String> command = new ArrayList<>();
        command.addAll(List.of(TorchPython.require(), "-W", "ignore", script()));
        command.addAll(List.of(arguments));
        ProcessBuilder builder = new ProcessBuilder(command);
        builder.environment().put("TORCH_CPP_LOG_LEVEL", "ERROR");
        builder.redirectError(ProcessBuilder.Redirect.INHERIT);
        Torch torch = new Torch(builder.start());
        assertThat(torch.line()).startsWith("torch ");
        return torch;
    }

    private static String script() throws URISyntaxException {
        URL script = Torch.class.getResource("torch_store.py");
        return Path.of(script.toURI()).toString();
    }

    String line() throws IOException {
        return output.readLine();
    }

    /** Ends the script's input and expects it to have come to its end without an error. */
    void expectSuccess() throws Exception {
        process.getOutputStream().close();
        assertThat(output.readLine()).isEqualTo("ok");
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
        assertThat(process.exitValue()).isZero();
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }
}
