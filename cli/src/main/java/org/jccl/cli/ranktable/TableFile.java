package org.jccl.cli.ranktable;

import java.nio.file.Path;
import java.util.EnumSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jccl.ranktable.RankTable;
import org.jccl.ranktable.RankTableFormat;
import org.jccl.spi.PathSetting;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;

/** Finds the file of a command. */
final class TableFile {

    private static final Set<RankTableFormat> HCCL =
            EnumSet.of(
                    RankTableFormat.HCCL_1_0,
                    RankTableFormat.HCCL_1_2,
                    RankTableFormat.HCCL_2_0,
                    RankTableFormat.HCCL_GROUP_LIST);

    private TableFile() {}

    /** The file that the environment names. */
    static Optional<Path> ofEnvironment(Map<String, String> environment) {
        return Optional.ofNullable(environment.get(RankTable.VARIABLE))
                .filter(name -> !name.isBlank())
                .map(name -> PathSetting.of("environment variable " + RankTable.VARIABLE, name));
    }

    /** The given file, or else the one that the environment names. */
    static Path given(Path file, CommandSpec spec) {
        return Optional.ofNullable(file)
                .or(() -> ofEnvironment(System.getenv()))
                .orElseThrow(
                        () ->
                                new ParameterException(
                                        spec.commandLine(),
                                        "Name a FILE, or set " + RankTable.VARIABLE));
    }

    /** A warning if newer versions of HCCL reject the name of a valid file. */
    static Optional<String> warning(Path file, RankTable table) {
        return HCCL.contains(table.format()) && !file.toString().endsWith(".json")
                ? Optional.of(file + " does not end in .json: newer versions of HCCL refuse it")
                : Optional.empty();
    }
}
