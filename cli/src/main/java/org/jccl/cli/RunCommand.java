package org.jccl.cli;

import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import org.jccl.UsageException;
import org.jccl.bootstrap.LaunchException;
import org.jccl.bootstrap.OutputStreams;
import org.jccl.bootstrap.ProcessLauncher;
import org.jccl.bootstrap.ProcessLauncherBuilder;
import picocli.CommandLine.Command;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;
import picocli.CommandLine.TypeConversionException;

/**
 * {@code jccl run}: torchrun's words for {@link ProcessLauncher}. As with torchrun, an option that
 * is not given is looked up in the environment as {@code PET_} and its name, which is how Kubeflow
 * configures it.
 */
@Command(
        name = "run",
        description = "Start a command once for each rank, as torchrun does.",
        mixinStandardHelpOptions = true,
        showDefaultValues = true,
        sortOptions = false,
        footer = {
            "",
            "Ranks find each other by RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT and"
                    + " the rest of torchrun's variables. The exit code is 0, or that of the first"
                    + " rank that failed, 124 when the time is over, 1 otherwise.",
            "",
            "  jccl run --nproc-per-node 4 -- java -cp app.jar com.example.Training",
            "",
            "Ranks of one job can run different commands. After a lone colon, more ranks with their"
                    + " own --role, -n and command follow; each role's ranks follow each other:",
            "",
            "  jccl run --role python -n 2 -- python3 train.py"
                    + " : --role java -n 1 -- java -cp app.jar com.example.Training"
        })
final class RunCommand implements Callable<Integer> {

    private static final String LOOPBACK = "127.0.0.1";
    private static final int DEFAULT_PORT = 29500;

    @Spec private CommandSpec spec;

    @Option(
            names = {"-n", "--nproc-per-node", "--nproc_per_node"},
            paramLabel = "N",
            defaultValue = "${env:PET_NPROC_PER_NODE:-1}",
            description = "Number of ranks on this node.")
    private int ranksPerNode;

    @Option(
            names = "--role",
            paramLabel = "NAME",
            defaultValue = "${env:PET_ROLE:-default}",
            description = "What these ranks do, for ROLE_NAME.")
    private String role;

    @Option(
            names = {"--nnodes"},
            paramLabel = "N",
            defaultValue = "${env:PET_NNODES:-1}",
            description = "Number of nodes; start this command on each.")
    private int nodes;

    @Option(
            names = {"--node-rank", "--node_rank"},
            paramLabel = "R",
            defaultValue = "${env:PET_NODE_RANK:-0}",
            description = "Which node this is, from 0. Node 0 serves the store.")
    private int nodeRank;

    @Option(
            names = {"--master-addr", "--master_addr"},
            paramLabel = "HOST",
            defaultValue = "${env:PET_MASTER_ADDR}",
            description = "Node 0, as the others know it (default on one node: " + LOOPBACK + ").")
    private String masterAddress;

    @Option(
            names = {"--master-port", "--master_port"},
            paramLabel = "PORT",
            defaultValue = "${env:PET_MASTER_PORT}",
            description =
                    "Port of the store (default: "
                            + DEFAULT_PORT
                            + " for several nodes, any free one for a single one).")
    private Integer masterPort;

    @Option(
            names = "--standalone",
            description = "One node, its store on loopback on a free port, whatever PET_ says.")
    private boolean standalone;

    @Option(
            names = {"--rdzv-id", "--rdzv_id", "--run-id", "--run_id"},
            paramLabel = "ID",
            defaultValue = "${env:PET_RDZV_ID:-none}",
            description = "Name of the run, the same on every node.")
    private String runId;

    @Option(
            names = {"--max-restarts", "--max_restarts"},
            paramLabel = "N",
            defaultValue = "${env:PET_MAX_RESTARTS:-0}",
            description = "How often all ranks are started again after one failed.")
    private int maxRestarts;

    @Option(
            names = {"--log-dir", "--log_dir"},
            paramLabel = "DIR",
            description =
                    "Keep the ranks' output in DIR/ID/attempt_N/LOCAL_RANK; both streams, unless"
                            + " --tee or --redirects say otherwise.")
    private Path logDirectory;

    @Option(
            names = {"-t", "--tee"},
            paramLabel = "0-3",
            converter = Streams.class,
            description = "Streams to keep and show: 0 none, 1 output, 2 errors, 3 both.")
    private OutputStreams tee;

    @Option(
            names = {"-r", "--redirects"},
            paramLabel = "0-3",
            converter = Streams.class,
            description = "Streams to keep and not to show.")
    private OutputStreams redirects;

    @Option(
            names = "--timeout",
            paramLabel = "SECONDS",
            description = "Stop the job after this time (default: never).")
    private Long timeoutSeconds;

    @Parameters(
            arity = "1..*",
            paramLabel = "CMD",
            description = "The command and its arguments, after --.")
    private List<String> commands;

    @Override
    public Integer call() {
        ProcessLauncher launcher = launcher();
        try {
            launcher.run();
            return 0;
        } catch (LaunchException e) {
            spec.commandLine().getErr().println("jccl run: " + e.getMessage());
            return e.exitCode();
        }
    }

    private ProcessLauncher launcher() {
        try {
            return described();
        } catch (UsageException e) {
            throw new ParameterException(spec.commandLine(), e.getMessage(), e);
        }
    }

    private ProcessLauncher described() {
        List<List<String>> roles = MoreRanks.split(commands);
        ProcessLauncherBuilder builder =
                ProcessLauncher.builder(ranksPerNode)
                        .role(role)
                        .command(roles.get(0))
                        .runId(runId)
                        .maxRestarts(maxRestarts)
                        .output(this::print);
        if (timeoutSeconds != null) {
            builder.timeout(Duration.ofSeconds(timeoutSeconds));
        }
        for (List<String> words : roles.subList(1, roles.size())) {
            MoreRanks more = MoreRanks.parse(words, spec.commandLine());
            builder.addRole(more.role, more.ranks, more.command);
        }
        placeNodes(builder);
        keepLogs(builder);
        return builder.build();
    }

    private void placeNodes(ProcessLauncherBuilder builder) {
        if (standalone) {
            return;
        }
        if (nodes > 1 && masterAddress == null) {
            throw new ParameterException(
                    spec.commandLine(),
                    "--nnodes="
                            + nodes
                            + " needs --master-addr: name node 0 as the others know it");
        }
        builder.nodes(nodes, nodeRank);
        int defaultPort = nodes > 1 ? DEFAULT_PORT : 0;
        builder.master(
                masterAddress == null ? LOOPBACK : masterAddress,
                masterPort == null ? defaultPort : masterPort);
    }

    private void keepLogs(ProcessLauncherBuilder builder) {
        if (logDirectory == null && (tee != null || redirects != null)) {
            throw new ParameterException(
                    spec.commandLine(), "--tee and --redirects need --log-dir: name a folder");
        }
        if (logDirectory != null) {
            OutputStreams unsaid = redirects == null ? OutputStreams.BOTH : OutputStreams.NONE;
            builder.logs(
                    logDirectory,
                    tee == null ? unsaid : tee,
                    redirects == null ? OutputStreams.NONE : redirects);
        }
    }

    private void print(int rank, boolean error, String line) {
        PrintWriter stream = error ? spec.commandLine().getErr() : spec.commandLine().getOut();
        stream.println("[" + rank + "] " + line);
    }

    /** Torchrun's numbers for streams. */
    static final class Streams implements ITypeConverter<OutputStreams> {

        @Override
        public OutputStreams convert(String number) {
            OutputStreams[] all = OutputStreams.values();
            if (!number.matches("[0-3]")) {
                throw new TypeConversionException(
                        "'" + number + "' is not 0 (none), 1 (output), 2 (errors) or 3 (both)");
            }
            return all[Integer.parseInt(number)];
        }
    }
}
