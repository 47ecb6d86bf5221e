package org.jccl.testing;

import static org.junit.jupiter.api.Assumptions.abort;

import java.io.BufferedReader;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A Python that has torch, and numpy, which torch's object collectives call: the one named by the
 * system property or environment variable {@code JCCL_PEER_PYTHON}, else {@code python3}.
 */
public final class TorchPython {

    private static final String NAME = "JCCL_PEER_PYTHON";

    /** Tells the version without loading torch, which takes seconds. */
    private static final String VERSION =
            """
            from importlib.metadata import version
            version("numpy")
            print("torch", version("torch"))
            """;

    /** What each Python has answered. */
    private static final Map<String, String> ANSWERS = new ConcurrentHashMap<>();

    private TorchPython() {}

    /**
     * Finds it. Without torch the calling test is skipped, or fails if a Python was named.
     *
     * @return the executable
     */
    public static String require() {
        String named = System.getProperty(NAME, System.getenv(NAME));
        String python = named == null ? "python3" : named;
        String answer = ANSWERS.computeIfAbsent(python, TorchPython::askVersion);
        if (answer.startsWith("torch ")) {
            return python;
        }
        if (named != null) {
            throw new AssertionError("%s=%s does not work: %s".formatted(NAME, named, answer));
        }
        return abort(
                "Interoperation with PyTorch is not tested (%s): install torch 2.13 and numpy for python3, or set %s to a Python that has them"
                        .formatted(answer, NAME));
    }

    private static String askVersion(String python) {
        try {
            Process process =
                    new ProcessBuilder(List.of(python, "-c", VERSION))
                            .redirectErrorStream(true)
                            .start();
            try (BufferedReader output = process.inputReader()) {
                return String.valueOf(output.lines().reduce((first, second) -> second).orElse(""));
            }
        } catch (IOException e) {
            return e.getMessage();
        }
    }
}
