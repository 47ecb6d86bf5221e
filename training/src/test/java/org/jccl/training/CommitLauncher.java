package org.jccl.training;

import org.jccl.launch.OutputHandler;
import org.jccl.launch.ProcessLauncher;
import org.jccl.launch.ProcessLauncherBuilder;
import org.jccl.testing.ChildJvm;

/** A launcher of one of two or four nodes with four ranks of a {@link CommitJob}. */
final class CommitLauncher {

    private CommitLauncher() {}

    /**
     * Runs the launcher of a node, whose ranks print what they say.
     *
     * @param arguments the node, the number of nodes, the arguments of the ranks with commas
     *     between them, and the store: a port of node 0, or a URL
     */
    public static void main(String[] arguments) {
        run(
                Integer.parseInt(arguments[0]),
                Integer.parseInt(arguments[1]),
                arguments[2],
                arguments[3],
                (rank, error, line) -> System.out.println(line));
    }

    private static void run(
            int node, int nodes, String arguments, String store, OutputHandler output) {
        ProcessLauncherBuilder builder =
                ProcessLauncher.builder(4 / nodes)
                        .mainClass(CommitJob.class, arguments.split(","))
                        .jvmArguments(ChildJvm.shortLived())
                        .nodes(nodes, node)
                        .runId("nodes")
                        .replaceLostRanks()
                        .maxRestarts(1_000_000)
                        .output(output);
        if (store.contains(":")) {
            builder.store(store);
        } else {
            builder.master("127.0.0.1", Integer.parseInt(store));
        }
        builder.build().run();
    }
}
