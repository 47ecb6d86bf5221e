package org.jccl.training;

import java.util.List;
import org.jccl.launch.OutputHandler;
import org.jccl.launch.ProcessLauncher;

/**
 * A launcher of one of two nodes, each with two ranks of a {@link CommitJob} that nothing kills.
 */
final class CommitLauncher {

    private static final int RANKS = 2;

    private CommitLauncher() {}

    /**
     * Runs the launcher of a node, whose ranks print what they say.
     *
     * @param arguments the node, the port of the store, and the number of steps
     */
    public static void main(String[] arguments) {
        run(
                Integer.parseInt(arguments[0]),
                Integer.parseInt(arguments[1]),
                arguments[2],
                (rank, error, line) -> System.out.println(line));
    }

    static void run(int node, int port, String steps, OutputHandler output) {
        ProcessLauncher.builder(RANKS)
                .mainClass(
                        CommitJob.class, List.of(steps, "2", "0", "20", "9").toArray(String[]::new))
                .nodes(2, node)
                .master("127.0.0.1", port)
                .runId("nodes")
                .replaceLostRanks()
                .maxRestarts(100)
                .output(output)
                .build()
                .run();
    }
}
