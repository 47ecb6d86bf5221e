package org.jccl.cli.ranktable;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import org.jccl.ranktable.RankTable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Shows a table as text, or as JSON in one form for all formats. */
@Command(
        name = "show",
        description = "Show node, device, rank and address of each rank of a rank table.",
        mixinStandardHelpOptions = true)
final class ShowCommand implements Callable<Integer> {

    @Spec private CommandSpec spec;

    @Parameters(
            arity = "0..1",
            paramLabel = "FILE",
            description = "The table (default: the file that RANK_TABLE_FILE names).")
    private Path given;

    @Option(names = "--json", description = "Print JSON, in the same form for all formats.")
    private boolean json;

    @Override
    public Integer call() throws IOException {
        RankTable table = RankTable.read(TableFile.given(given, spec));
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            TableView.writeJson(table, out);
        } else {
            TableView.writeText(table, out);
        }
        out.flush();
        return 0;
    }
}
