package org.jccl.training;

import java.util.Arrays;
import java.util.List;
import org.jccl.launch.OutputHandler;
import org.jccl.launch.ProcessLauncher;
import org.jccl.launch.ProcessLauncherBuilder;

/** A launcher of one of several nodes with ranks of a {@link CommitJob} that nothing kills. */
final class CommitLauncher {

    private CommitLauncher() {}

    /**
     * Runs the launcher of a node, whose ranks print what they say.
     *
     * @param arguments the node, the number of steps, and the ports of the store
     */
    public static void main(String[] arguments) {
        run(
                Integer.parseInt(arguments[0]),
                arguments[1],
                Arrays.stream(arguments).skip(2).map(Integer::valueOf).toList(),
                (rank, error, line) -> System.out.println(line));
    }

    /** With one port, there are two nodes of two ranks; with several, as many nodes of one rank. */
    static void run(int node, String steps, List<Integer> ports, OutputHandler output) {
        boolean replicated = ports.size() > 1;
        ProcessLauncherBuilder launcher =
                ProcessLauncher.builder(replicated ? 1 : 2)
                        .mainClass(
                                CommitJob.class,
                                List.of(steps, "2", "0", "20", "9").toArray(String[]::new))
                        .nodes(replicated ? ports.size() : 2, node)
                        .runId("nodes")
                        .replaceLostRanks()
                        .maxRestarts(100)
                        .output(output);
        if (replicated) {
            launcher.replicatedStore(
                    ports.stream().map(port -> "127.0.0.1:" + port).toArray(String[]::new));
        } else {
            launcher.master("127.0.0.1", ports.get(0));
        }
        launcher.build().run();
    }
}
