package org.jccl.cli.info;

import java.io.IOException;
import java.io.PrintWriter;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Prints Java, machine, launcher, and each backend or the reason why it is not available. */
@Command(
        name = "info",
        description = "Show which backends are available here, with version and path, or why not.",
        mixinStandardHelpOptions = true,
        footer = {
            "",
            "Examples:",
            "  jccl info",
            "  jccl info --verbose                           # every place that was searched",
            "  jccl info --json | jq '.backends[].available'",
            "  JCCL_NCCL_LIBRARY=/opt/nccl/libnccl.so.2 jccl info"
        })
public final class InfoCommand implements Callable<Integer> {

    @Spec private CommandSpec spec;

    @Option(names = "--json", description = "Print all as JSON.")
    private boolean json;

    @Option(
            names = {"-v", "--verbose"},
            description =
                    "Print everything, including every place that was searched and why it was"
                            + " rejected.")
    private boolean verbose;

    /** Creates the command, for picocli to fill. */
    public InfoCommand() {}

    @Override
    public Integer call() throws IOException {
        Info info = Info.of(System.getenv());
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            info.writeJson(out);
        } else if (verbose) {
            info.writeDetails(out);
        } else {
            info.writeText(out);
        }
        out.flush();
        return 0;
    }
}
