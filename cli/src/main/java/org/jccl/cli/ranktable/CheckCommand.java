package org.jccl.cli.ranktable;

import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import org.jccl.ranktable.AscendChip;
import org.jccl.ranktable.RankTable;
import org.jccl.ranktable.RankTableException;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
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

    @Option(
            names = "--chip",
            paramLabel = "CHIP",
            converter = Chip.class,
            description =
                    "910, A2, A3 or 950: what HCCL refuses there is a fault (default: a fault is"
                            + " what every chip refuses, a warning what some refuse).")
    private AscendChip chip;

    /** Takes the last word of a chip's name. */
    static final class Chip implements CommandLine.ITypeConverter<AscendChip> {

        @Override
        public AscendChip convert(String name) {
            return Arrays.stream(AscendChip.values())
                    .filter(chip -> chip.toString().endsWith(" " + name.toUpperCase(Locale.ROOT)))
                    .findFirst()
                    .orElseThrow(
                            () ->
                                    new CommandLine.TypeConversionException(
                                            "'" + name + "' is none of 910, A2, A3, 950"));
        }
    }

    @Override
    public Integer call() {
        Path file = TableFile.given(given, spec);
        try {
            RankTable table = RankTable.read(file);
            List<RankTableException.Fault> refused =
                    chip == null ? List.of() : table.faultsOn(chip);
            if (!refused.isEmpty()) {
                return refuse(file, refused);
            }
            PrintWriter out = spec.commandLine().getOut();
            out.println(file + ": valid, " + table);
            table.warnings().forEach(fault -> out.println("warning: " + fault));
            TableFile.warning(file, table).ifPresent(text -> out.println("warning: " + text));
            out.flush();
            return 0;
        } catch (RankTableException e) {
            if (e.faults().isEmpty()) {
                throw e;
            }
            return refuse(file, e.faults());
        }
    }

    private int refuse(Path file, List<RankTableException.Fault> faults) {
        PrintWriter err = spec.commandLine().getErr();
        faults.forEach(fault -> err.println(file + ": " + fault));
        err.println(file + ": not valid, faults: " + faults.size());
        err.flush();
        return 1;
    }
}
