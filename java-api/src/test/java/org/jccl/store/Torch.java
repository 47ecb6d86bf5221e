package org.jccl.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;

import java.io.BufferedReader;
import java.io.IOException;
import java.net.URISyntaxException;
import java.net.URL;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * A Python process with torch. Its Python is named by the system property or environment variable
 * {@code JCCL_TORCH_PYTHON}, else it is {@code python3}; without torch the test is skipped.
 */
final class Torch implements AutoCloseable {

    private static final String PYTHON = "JCCL_TORCH_PYTHON";

    private final Process process;
    private final BufferedReader output;

    private Torch(Process process) {
        this.process = process;
        this.output = process.inputReader();
    }

    /** Runs the script beside this class; without torch the calling test is skipped. */
    static Torch start(String... arguments) throws Exception {
        String named = System.getProperty(PYTHON, System.getenv(PYTHON));
        List<String> command = new ArrayList<>();
        command.addAll(List.of(named == null ? "python3" : named, "-W", "ignore", script()));
        command.addAll(List.of(arguments));
        String version = "no python3";
        try {
            ProcessBuilder builder = new ProcessBuilder(command);
            builder.environment().put("TORCH_CPP_LOG_LEVEL", "ERROR");
            builder.redirectError(ProcessBuilder.Redirect.INHERIT);
            Torch torch = new Torch(builder.start());
            version = torch.line();
            if (version != null && version.startsWith("torch ")) {
                return torch;
            }
            torch.close();
        } catch (IOException e) {
            version = e.getMessage();
        }
        if (named != null) {
            throw new AssertionError("%s=%s does not work: %s".formatted(PYTHON, named, version));
        }
        return abort(
                "Interoperation with PyTorch is not tested (%s): install torch 2.13 for python3, or set %s to a Python that has it"
                        .formatted(version, PYTHON));
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
