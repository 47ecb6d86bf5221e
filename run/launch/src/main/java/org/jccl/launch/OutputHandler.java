package org.jccl.launch;

import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.jccl.internal.checks.Require;

/**
 * Receives the lines that the ranks of a {@link ProcessLauncher} print. Two threads for each rank
 * call it at the same time.
 */
@FunctionalInterface
public interface OutputHandler {

    /**
     * Receives one line.
     *
     * @param rank rank in the world of the process that printed it
     * @param error true for standard error, false for standard output
     * @param line the line without its end
     */
    void line(int rank, boolean error, String line);

    /**
     * Receives the bytes of one line. By default, decodes them as UTF-8 and calls {@link #line}.
     *
     * @param rank rank in the world of the process that printed it
     * @param error true for standard error, false for standard output
     * @param line the bytes of the line without its end
     * @throws org.jccl.UsageException if the line is null
     */
    default void bytes(int rank, boolean error, byte[] line) {
        line(rank, error, new String(Require.nonNull(line, "line"), StandardCharsets.UTF_8));
    }

    /**
     * Returns a handler that prints each line after its rank, as in {@code [3] loss 0.25}.
     *
     * @param out the destination of standard output
     * @param err the destination of standard error
     * @return the handler
     * @throws org.jccl.UsageException if an argument is null
     */
    static OutputHandler prefixed(PrintStream out, PrintStream err) {
        Require.nonNull(out, "out");
        Require.nonNull(err, "err");
        return (rank, error, line) -> (error ? err : out).println("[" + rank + "] " + line);
    }
}
