package org.jccl.testing;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A Python process with torch; see {@link TorchPython}. */
public final class Torch implements AutoCloseable {

    private final Process process;
    private final BufferedReader output;

    private Torch(Process process) {
        this.process = process;
        this.output = process.inputReader();
    }

    /**
     * Runs a script that prints {@code torch VERSION} first; without torch the calling test is
     * skipped.
     *
     * @param script of Python
     * @param arguments of the script
     * @return the process
     * @throws Exception when it cannot be started
     */
    public static Torch start(Path script, String... arguments) throws Exception {
        List<String> command = new ArrayList<>();
        command.addAll(List.of(TorchPython.require(), "-W", "ignore", script.toString()));
        command.addAll(List.of(arguments));
        ProcessBuilder builder = new ProcessBuilder(command);
        builder.environment().put("TORCH_CPP_LOG_LEVEL", "ERROR");
        builder.redirectError(ProcessBuilder.Redirect.INHERIT);
        Torch torch = new Torch(builder.start());
        assertThat(torch.line()).startsWith("torch ");
        return torch;
    }

    /**
     * Writes a line to the script's input.
     *
     * @param text the line
     * @throws IOException when the process is gone
     */
    public void send(String text) throws IOException {
        process.outputWriter().write(text + "\n");
        process.outputWriter().flush();
    }

    /**
     * The process itself.
     *
     * @return running until the script ends
     */
    public Process process() {
        return process;
    }

    /**
     * Reads a line of what the script prints.
     *
     * @return the line, or null when it has ended
     * @throws IOException when the process is gone
     */
    public String line() throws IOException {
        return output.readLine();
    }

    /**
     * Ends the script's input and expects it to have come to its end without an error.
     *
     * @throws Exception when the process cannot be waited for
     */
    public void expectSuccess() throws Exception {
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
