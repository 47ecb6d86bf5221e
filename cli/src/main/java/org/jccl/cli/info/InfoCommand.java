package org.jccl.cli.info;

import java.io.IOException;
import java.io.PrintWriter;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Tells what is here: Java, machine, launcher, and each backend or why it is not available. */
@Command(
        name = "info",
        description = "Tells which backends are available here, with version and path, or why not.",
        mixinStandardHelpOptions = true)
public final class InfoCommand implements Callable<Integer> {

    @Spec private CommandSpec spec;

    @Option(names = "--json", description = "Print JSON instead of text.")
    private boolean json;

    /** Creates the command, for picocli to fill. */
    public InfoCommand() {}

    @Override
    public Integer call() throws IOException {
        Info info = Info.of(System.getenv());
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            info.writeJson(out);
        } else {
            info.writeText(out);
        }
        out.flush();
        return 0;
    }
}
