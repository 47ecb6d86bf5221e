package org.jccl.training;

import java.util.Arrays;
import java.util.List;
import org.jccl.launch.OutputHandler;
import org.jccl.launch.ProcessLauncher;
import org.jccl.launch.ProcessLauncherBuilder;
import org.jccl.testing.ChildJvm;

/** A launcher of one of several nodes with ranks of a {@link CommitJob}. */
final class CommitLauncher {

    private CommitLauncher() {}

    /**
     * Runs the launcher of a node, whose ranks print what they say.
     *
     * @param arguments the node, the number of nodes, the arguments of the ranks with commas
     *     between them, and the ports of the store
     */
    public static void main(String[] arguments) {
        run(
                Integer.parseInt(arguments[0]),
                Integer.parseInt(arguments[1]),
                arguments[2],
                Arrays.stream(arguments).skip(3).map(Integer::valueOf).toList(),
                (rank, error, line) -> System.out.println(line));
    }

    /** With one port, each node has two ranks; with several, the store has as many servers. */
    static void run(
            int node, int nodes, String arguments, List<Integer> ports, OutputHandler output) {
        boolean replicated = ports.size() > 1;
        ProcessLauncherBuilder launcher =
                ProcessLauncher.builder(replicated ? 1 : 2)
                        .mainClass(CommitJob.class, arguments.split(","))
                        .jvmArguments(ChildJvm.shortLived())
                        .nodes(nodes, node)
                        .runId("nodes")
                        .replaceLostRanks()
                        .maxRestarts(1_000_000)
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
