package org.jccl.cli;

import picocli.CommandLine;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;

/** Options of torchrun that mean nothing to {@code jccl run}, or that it has not. */
final class TorchrunOptions {

    @Option(
            names = {"--no-python", "--no_python"},
            description = "Accepted: the command is always started as it is.")
    private boolean noPython;

    @Option(
            names = {"--monitor-interval", "--monitor_interval"},
            paramLabel = "SECONDS",
            description = "Ignored: the end of a rank is noticed at once.")
    private String monitorInterval;

    @Option(
            names = {"--start-method", "--start_method"},
            paramLabel = "NAME",
            description = "Ignored: ranks are commands.")
    private String startMethod;

    @Option(
            names = {"--event-log-handler", "--event_log_handler"},
            paramLabel = "NAME",
            description = "Ignored: there are no event handlers.")
    private String eventLogHandler;

    @Option(
            names = {"--local-addr", "--local_addr"},
            paramLabel = "HOST",
            defaultValue = "${env:PET_LOCAL_ADDR}",
            description = "Ignored: --master-addr names node 0.")
    private String localAddress;

    @Option(
            names = {"--run-path", "--run_path"},
            hidden = true)
    private boolean runPath;

    @Option(
            names = {"--logs-specs", "--logs_specs"},
            hidden = true)
    private String logsSpecs;

    @Option(
            names = {"--numa-binding", "--numa_binding"},
            hidden = true)
    private String numaBinding;

    @Option(
            names = {"--virtual-local-rank", "--virtual_local_rank"},
            hidden = true)
    private boolean virtualLocalRank;

    @Option(
            names = {
                "--duplicate-stdout-filters",
                "--duplicate_stdout_filters",
                "--duplicate-stderr-filters",
                "--duplicate_stderr_filters"
            },
            hidden = true)
    private String duplicateFilters;

    /** Says what is ignored, and refuses what is not there. */
    void check(CommandLine command) {
        ignore(
                command,
                "--monitor-interval",
                monitorInterval,
                "the end of a rank is noticed at once");
        ignore(command, "--start-method", startMethod, "ranks are commands");
        ignore(command, "--event-log-handler", eventLogHandler, "there are no event handlers");
        ignore(command, "--local-addr", localAddress, "--master-addr names node 0");
        refuse(command, "--run-path", runPath, "name the interpreter: -- python3 SCRIPT");
        refuse(command, "--logs-specs", logsSpecs != null, "use --log-dir, --tee and --redirects");
        refuse(
                command,
                "--numa-binding",
                numaBinding != null,
                "start numactl or taskset in the command, which can read LOCAL_RANK");
        refuse(
                command,
                "--virtual-local-rank",
                virtualLocalRank,
                "set the visible devices in the command, which can read LOCAL_RANK");
        refuse(
                command,
                "--duplicate-stdout-filters and --duplicate-stderr-filters",
                duplicateFilters != null,
                "keep the output with --log-dir and search it with grep");
    }

    private static void ignore(CommandLine command, String option, String value, String why) {
        if (value != null) {
            command.getErr().println("jccl run: " + option + " is ignored: " + why);
        }
    }

    private static void refuse(CommandLine command, String option, boolean given, String instead) {
        if (given) {
            throw new ParameterException(
                    command, "jccl run has no " + option + " of torchrun; " + instead);
        }
    }
}
