package org.jccl.cli.ranktable;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Makes, checks and shows rank tables. */
@Command(
        name = "ranktable",
        description = "Make, check and show the rank tables of SCCL and HCCL.",
        mixinStandardHelpOptions = true,
        synopsisSubcommandLabel = "COMMAND",
        subcommands = {GenerateCommand.class, CheckCommand.class, ShowCommand.class},
        footer = {
            "",
            "Examples:",
            "  jccl ranktable check rank_table.json",
            "  jccl ranktable show rank_table.json",
            "  jccl ranktable generate --device_id \"[[7,6,2,3]]\" -o rank_table.json",
            "  jccl ranktable generate --from rank_table.json --format hccl-2.0"
        })
public final class RankTableCommand implements Runnable {

    @Spec private CommandSpec spec;

    /** Creates the command, for picocli to fill. */
    public RankTableCommand() {}

    @Override
    public void run() {
        throw new ParameterException(
                spec.commandLine(), "Name a subcommand: generate, check or" + " show");
    }
}
