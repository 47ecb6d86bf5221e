package org.jccl.cli.ranktable;

import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import org.jccl.ranktable.RankTable;
import org.jccl.ranktable.RankTableException;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Prints everything that is wrong with a table. */
@Command(
        name = "check",
        description = "Check a rank table. List every fault, and exit with 1 if there is one.",
        mixinStandardHelpOptions = true)
final class CheckCommand implements Callable<Integer> {

    @Spec private CommandSpec spec;

    @Parameters(
            arity = "0..1",
            paramLabel = "FILE",
            description = "The table (default: the file that RANK_TABLE_FILE names).")
    private Path given;

    @Override
    public Integer call() {
        Path file = TableFile.given(given, spec);
        try {
            RankTable table = RankTable.read(file);
            PrintWriter out = spec.commandLine().getOut();
            out.println(file + ": valid, " + table);
            TableFile.warning(file, table).ifPresent(text -> out.println("warning: " + text));
            out.flush();
            return 0;
        } catch (RankTableException e) {
            if (e.faults().isEmpty()) {
                throw e;
            }
            PrintWriter err = spec.commandLine().getErr();
            e.faults().forEach(fault -> err.println(file + ": " + fault));
            err.println(file + ": not valid, faults: " + e.faults().size());
            err.flush();
            return 1;
        }
    }
}
