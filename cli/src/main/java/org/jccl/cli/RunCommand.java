package org.jccl.cli;

import java.io.File;
import java.io.IOException;
import java.io.PrintWriter;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.jccl.UsageException;
import org.jccl.internal.rendezvous.Endpoint;
import org.jccl.launch.LaunchException;
import org.jccl.launch.OutputHandler;
import org.jccl.launch.OutputStreams;
import org.jccl.launch.ProcessLauncher;
import org.jccl.launch.ProcessLauncherBuilder;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExecutionException;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;
import picocli.CommandLine.TypeConversionException;

/**
 * {@code jccl run}: {@link ProcessLauncher} with torchrun's options. As in torchrun, the default of
 * an option is the environment variable {@code PET_} and its name, which Kubeflow sets, or else the
 * variable of another Kubernetes operator.
 */
@Command(
        name = "run",
        description = "Start a command once for each rank, as torchrun does.",
        mixinStandardHelpOptions = true,
        showDefaultValues = true,
        sortOptions = false,
        defaultValueProvider = PodDefaults.class,
        footer = {
            "",
            "Ranks find each other by RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT and"
                    + " the rest of torchrun's variables. The exit code is 0, or that of the first"
                    + " rank that failed, 124 after --timeout, 143 after SIGTERM, 1 otherwise.",
            "",
            "  jccl run -n 4 app.jar --epochs 3",
            "  jccl run -n 4 -m com.example.Training -cp 'app.jar:lib/*' --epochs 3",
            "  jccl run -n 4 -- java -Xmx8g -jar app.jar --epochs 3",
            "",
            "A rank that exits with 64 would fail again, and is not started again. If the number"
                    + " of nodes may change, use torchrun:",
            "",
            "  torchrun --nnodes 2:4 --no-python java -cp app.jar com.example.Training",
            "",
            "Ranks of one job can run different commands. After a lone colon, more ranks with their"
                    + " own --role, -n and command follow; the ranks of a role are consecutive:",
            "",
            "  jccl run --role python -n 2 -- python3 train.py"
                    + " : --role java -n 1 -- java -cp app.jar com.example.Training"
        })
final class RunCommand implements Callable<Integer> {

    private static final String LOOPBACK = "127.0.0.1";
    private static final int DEFAULT_PORT = 29500;
    private static final int ETCD_PORT = 2379;

    /** Enough for all roles; choices of streams apply to local ranks below this. */
    private static final int MOST_LOCAL_RANKS = 1 << 12;

    @Spec private CommandSpec spec;

    @Option(
            names = {"-n", "--nproc-per-node", "--nproc_per_node"},
            paramLabel = "N|auto|cpu|gpu",
            defaultValue = "${env:PET_NPROC_PER_NODE:-1}",
            converter = RankCount.class,
            description =
                    "Number of ranks on this node: cpu for the number of processors, gpu or xpu"
                            + " for the number of devices, auto for gpu if there are devices, else"
                            + " cpu.")
    private int ranksPerNode;

    @Option(
            names = "--role",
            paramLabel = "NAME",
            defaultValue = "${env:PET_ROLE:-default}",
            description = "The role of these ranks, for ROLE_NAME.")
    private String role;

    @Option(
            names = {"--nnodes"},
            paramLabel = "N",
            converter = NodeCount.class,
            defaultValue = "${env:PET_NNODES:-1}",
            description = "Number of nodes; start this command on each.")
    private int nodes;

    @Option(
            names = {"--node-rank", "--node_rank"},
            paramLabel = "R",
            defaultValue = "${env:PET_NODE_RANK:-0}",
            description = "Rank of this node, from 0. Node 0 serves the store.")
    private int nodeRank;

    @Option(
            names = {"--master-addr", "--master_addr"},
            paramLabel = "HOST",
            defaultValue = "${env:PET_MASTER_ADDR}",
            description =
                    "The address of node 0 that the other nodes use (default on one node: "
                            + LOOPBACK
                            + ").")
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
            names = {"--rdzv-backend", "--rdzv_backend"},
            paramLabel = "NAME",
            defaultValue = "${env:PET_RDZV_BACKEND}",
            description =
                    "static: node 0 serves the store. etcd: etcd does, so that the job outlives any"
                            + " host; needs jccl-etcd. c10d is static for one node.")
    private String rendezvous;

    @Option(
            names = {"--rdzv-endpoint", "--rdzv_endpoint"},
            paramLabel = "HOST[:PORT]",
            defaultValue = "${env:PET_RDZV_ENDPOINT}",
            description =
                    "Where the job's store is: node 0, as --master-addr and --master-port; or the"
                            + " members of etcd, separated by commas.")
    private String endpoint;

    @Option(
            names = {"--rdzv-conf", "--rdzv_conf"},
            paramLabel = "KEY=VALUE",
            split = ",",
            defaultValue = "${env:PET_RDZV_CONF}",
            description = "Options of etcd: cacert, cert, key, user and ttl. Ignored without etcd.")
    private Map<String, String> rendezvousSettings;

    @Option(
            names = "--standalone",
            description =
                    "One node with its store on a free port of loopback, regardless of PET_"
                            + " variables.")
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
            description =
                    "Maximum number of restarts after failures: of all ranks, or with --replace of"
                            + " the failed rank.")
    private int maxRestarts;

    @Option(
            names = "--replace",
            description =
                    "When a rank fails, only that rank is started again, for programs that call"
                            + " reconfigure(). Needs --max-restarts.")
    private boolean replace;

    @Option(
            names = "--keep-survivors",
            description =
                    "When a rank fails, the others continue, for programs that call shrink(). Exits"
                            + " with 0 if a rank does.")
    private boolean keepSurvivors;

    @Option(
            names = {"--log-dir", "--log_dir"},
            paramLabel = "DIR",
            defaultValue = "${env:PET_LOG_DIR}",
            description =
                    "Keep the ranks' output in DIR/ID/attempt_N/LOCAL_RANK; both streams, unless"
                            + " --tee or --redirects say otherwise. ID gets a number if another job"
                            + " has that folder.")
    private Path logDirectory;

    @Option(
            names = {"-t", "--tee"},
            paramLabel = "S|R:S,...",
            converter = StreamChoice.Reader.class,
            defaultValue = "${env:PET_TEE}",
            description =
                    "Streams to keep and show: 0 none, 1 output, 2 errors, 3 both; or of single"
                            + " local ranks, as 0:3,1:2. Without --log-dir, in a temporary folder.")
    private StreamChoice tee;

    @Option(
            names = {"-r", "--redirects"},
            paramLabel = "S|R:S,...",
            converter = StreamChoice.Reader.class,
            defaultValue = "${env:PET_REDIRECTS}",
            description = "Streams to keep and not to show.")
    private StreamChoice redirects;

    @Option(
            names = {"--local-ranks-filter", "--local_ranks_filter"},
            paramLabel = "R",
            split = ",",
            defaultValue = "${env:PET_LOCAL_RANKS_FILTER}",
            description = "Show the output of these local ranks only.")
    private List<Integer> shownRanks;

    @Option(
            names = {"--signals-to-handle", "--signals_to_handle"},
            paramLabel = "NAME",
            defaultValue = "${env:PET_SIGNALS_TO_HANDLE}",
            description =
                    "Signals, separated by commas, that end the job: ranks get the signal, and"
                            + " SIGTERM after --shutdown-timeout. SIGTERM, SIGINT and SIGHUP always"
                            + " do; others, such as SIGUSR1, are only passed to the ranks.")
    private String endingSignals;

    @Option(
            names = "--terminate-on",
            paramLabel = "NAME",
            description =
                    "Signals, separated by commas, that are taken as SIGTERM. The ranks ignore"
                            + " them.")
    private String terminatingSignals;

    @Option(
            names = "--timeout",
            paramLabel = "SECONDS",
            converter = Seconds.class,
            description = "Stop the job after this time (default: never).")
    private Duration timeout;

    @Option(
            names = {"--shutdown-timeout", "--shutdown_timeout"},
            paramLabel = "SECONDS",
            defaultValue = "${env:PET_SHUTDOWN_TIMEOUT:-5}",
            converter = Seconds.class,
            description = "How long ranks may take to stop after SIGTERM.")
    private Duration shutdownTimeout;

    @ArgGroup(
            exclusive = false,
            multiplicity = "0..1",
            heading =
                    "Encrypt the store and the ranks' connections with TLS (default: JCCL_TLS_CERT,"
                            + " JCCL_TLS_KEY and JCCL_TLS_CA):%n")
    private TlsFiles tls;

    @Option(
            names = {"-m", "--module"},
            description =
                    "CMD is a main class, which may be followed by -cp and its class path: start"
                            + " java with it. JDK_JAVA_OPTIONS has options of java.")
    private boolean mainClass;

    @Mixin private TorchrunOptions others;

    /** The signals of --terminate-on. */
    private Set<String> terminating = Set.of();

    @Parameters(
            arity = "1..*",
            paramLabel = "CMD",
            description =
                    "The command and its arguments, after --. A file that ends in .jar and cannot"
                            + " be executed is started with java -jar.")
    private List<String> commands;

    @Override
    public Integer call() {
        others.check(spec.commandLine());
        Set<String> ending = signals("--signals-to-handle", endingSignals);
        terminating = signals("--terminate-on", terminatingSignals);
        ProcessLauncher launcher = launcher();
        CountDownLatch ended = new CountDownLatch(1);
        Signals.handle(
                signal -> {
                    if (terminating.contains(signal)) {
                        System.exit(Signals.exitCode("TERM"));
                    }
                    passOn(launcher, signal, ending.contains(signal), ended);
                });
        try {
            launcher.run();
            return 0;
        } catch (LaunchException e) {
            spec.commandLine().getErr().println("jccl run: " + e.getMessage());
            return e.exitCode();
        } finally {
            ended.countDown();
        }
    }

    private Set<String> signals(String option, String list) {
        try {
            return list == null ? Set.of() : Signals.parse(list);
        } catch (IllegalArgumentException e) {
            throw new ParameterException(spec.commandLine(), option + ": " + e.getMessage(), e);
        }
    }

    /** A batch system may send a signal to the ranks too, which must survive until SIGTERM. */
    private List<String> ignoring(List<String> command) {
        if (terminating.isEmpty()) {
            return RawArguments.command(command);
        }
        String script = "trap '' " + String.join(" ", terminating) + "; exec \"$0\" \"$@\"";
        List<String> words = new ArrayList<>(List.of("sh", "-c", script));
        words.addAll(command);
        return RawArguments.command(words);
    }

    private void passOn(
            ProcessLauncher launcher, String signal, boolean ends, CountDownLatch ended) {
        spec.commandLine().getErr().println("jccl run: passing SIG" + signal + " to the ranks");
        launcher.signal(signal);
        if (ends) {
            try {
                if (!ended.await(shutdownTimeout.toMillis(), TimeUnit.MILLISECONDS)) {
                    System.exit(Signals.exitCode(signal));
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
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
                        .command(command(roles.get(0)))
                        .runId(runId)
                        .maxRestarts(maxRestarts)
                        .grace(shutdownTimeout)
                        .inheritInput()
                        .output(new Printer());
        if (shownRanks != null) {
            builder.show(shownRanks);
        }
        if (keepSurvivors) {
            builder.keepSurvivors();
        }
        if (tls != null) {
            builder.tls(tls.certificate, tls.key, tls.authorities);
        }
        if (replace) {
            builder.replaceLostRanks();
        }
        if (timeout != null) {
            builder.timeout(timeout);
        }
        for (List<String> words : roles.subList(1, roles.size())) {
            MoreRanks more = MoreRanks.parse(words, spec.commandLine());
            builder.addRole(more.role, more.ranks, ignoring(JavaProgram.ofJar(more.command)));
        }
        placeNodes(builder);
        keepLogs(builder);
        return builder.build();
    }

    private List<String> command(List<String> words) {
        if (mainClass) {
            return ignoring(JavaProgram.ofMainClass(words));
        }
        requireProgram(words.get(0));
        return ignoring(JavaProgram.ofJar(words));
    }

    /** Under torchrun, a script needs no interpreter before it. */
    private void requireProgram(String command) {
        if (command.endsWith(".py") && !new File(command).canExecute()) {
            throw new ParameterException(
                    spec.commandLine(),
                    command
                            + " is not a program: name its interpreter too, as in"
                            + " 'jccl run -n 2 -- python3 "
                            + command
                            + "'");
        }
    }

    private void placeNodes(ProcessLauncherBuilder builder) {
        if (standalone) {
            return;
        }
        if (isEtcd()) {
            builder.nodes(nodes, ownNodeRank()).store(etcd());
            return;
        }
        // As in torchrun, an empty value is one that is not given.
        String host = isBlank(masterAddress) ? null : masterAddress;
        Integer port = masterPort;
        if (host == null && !isBlank(endpoint)) {
            Endpoint given = Endpoint.parse("--rdzv-endpoint", endpoint);
            host = given.host();
            if (port == null && given.port().isPresent()) {
                port = given.port().getAsInt();
            }
        }
        if (nodes > 1 && host == null) {
            throw new ParameterException(
                    spec.commandLine(),
                    "--nnodes="
                            + nodes
                            + " needs --master-addr: give the address of node 0 that the other"
                            + " nodes use");
        }
        builder.nodes(nodes, ownNodeRank());
        int defaultPort = nodes > 1 ? DEFAULT_PORT : 0;
        builder.master(
                host == null ? LOOPBACK : Endpoint.host("--master-addr", host),
                port == null ? defaultPort : port);
    }

    /** A job of one node may run on each node of a Slurm step. */
    private int ownNodeRank() {
        boolean given = spec.commandLine().getParseResult().hasMatchedOption("--node-rank");
        return nodes == 1 && !given && PodDefaults.isSlurmStep(System.getenv()) ? 0 : nodeRank;
    }

    private static boolean isBlank(String text) {
        return text == null || text.isBlank();
    }

    private boolean isEtcd() {
        String backend = rendezvous == null ? "" : rendezvous.toLowerCase(Locale.ROOT);
        return switch (backend) {
            case "", "static" -> false;
            case "etcd" -> true;
            case "c10d" -> {
                if (nodes > 1) {
                    throw new ParameterException(
                            spec.commandLine(),
                            "jccl run does not number the nodes as --rdzv-backend=c10d does: give"
                                    + " --node-rank and --master-addr instead, or use "
                                    + NodeCount.TORCHRUN.formatted(nodes));
                }
                yield false;
            }
            default ->
                    throw new ParameterException(
                            spec.commandLine(),
                            "--rdzv-backend="
                                    + rendezvous
                                    + " is unknown; it is static, etcd or c10d");
        };
    }

    /** The URL of the store; the launcher adds the run id. */
    private String etcd() {
        if (isBlank(endpoint) || runId.equals("none")) {
            throw new ParameterException(
                    spec.commandLine(),
                    "--rdzv-backend=etcd needs --rdzv-endpoint, the members of etcd, and --rdzv-id,"
                            + " a name that no other job there has");
        }
        String members =
                Arrays.stream(endpoint.split(","))
                        .map(each -> Endpoint.parse("--rdzv-endpoint", each).authority(ETCD_PORT))
                        .collect(Collectors.joining(","));
        String options =
                rendezvousSettings == null
                        ? ""
                        : rendezvousSettings.entrySet().stream()
                                .map(each -> each.getKey() + "=" + each.getValue())
                                .collect(Collectors.joining("&", "?", ""));
        return "etcd://" + members + "/jccl" + options;
    }

    private void keepLogs(ProcessLauncherBuilder builder) {
        if (logDirectory == null && (tee != null || redirects != null)) {
            logDirectory = temporaryFolder();
        }
        if (logDirectory != null) {
            int local = Math.max(ranksPerNode, MOST_LOCAL_RANKS);
            OutputStreams unsaid = redirects == null ? OutputStreams.BOTH : OutputStreams.NONE;
            if (StreamChoice.isOfAll(tee) && StreamChoice.isOfAll(redirects)) {
                builder.logs(
                        logDirectory,
                        tee == null ? unsaid : tee.all(),
                        redirects == null ? OutputStreams.NONE : redirects.all());
            } else {
                builder.logs(
                        logDirectory,
                        tee == null ? Map.of() : tee.ofRanks(local),
                        redirects == null ? Map.of() : redirects.ofRanks(local));
            }
        }
    }

    private Path temporaryFolder() {
        try {
            Path folder = Files.createTempDirectory("jccl-run-");
            spec.commandLine().getErr().println("jccl run: logs are in " + folder);
            return folder;
        } catch (IOException e) {
            throw new ExecutionException(
                    spec.commandLine(), "no temporary folder for logs can be made: " + e, e);
        }
    }

    /** Shows each line after its rank, with the bytes that the rank has written. */
    private final class Printer implements OutputHandler {

        @Override
        public void bytes(int rank, boolean error, byte[] line) {
            if (stream(error) instanceof RawWriter raw) {
                raw.line("[" + rank + "] ", line);
            } else {
                OutputHandler.super.bytes(rank, error, line);
            }
        }

        @Override
        public void line(int rank, boolean error, String line) {
            stream(error).println("[" + rank + "] " + line);
        }

        private PrintWriter stream(boolean error) {
            return error ? spec.commandLine().getErr() : spec.commandLine().getOut();
        }
    }

    /** The files of the certificates; all or none are given. */
    static final class TlsFiles {

        @Option(
                names = "--tls-cert",
                required = true,
                paramLabel = "FILE",
                description = "The certificate of this host's processes, PEM.")
        private Path certificate;

        @Option(
                names = "--tls-key",
                required = true,
                paramLabel = "FILE",
                description = "Its private key, unencrypted PKCS#8 PEM.")
        private Path key;

        @Option(
                names = "--tls-ca",
                required = true,
                paramLabel = "FILE",
                description = "The certificates of the job's authorities, PEM.")
        private Path authorities;
    }

    /** Reads the number of nodes. */
    static final class NodeCount implements ITypeConverter<Integer> {

        private static final String TORCHRUN =
                "torchrun: torchrun --nnodes %s --no-python java ...";

        @Override
        public Integer convert(String text) {
            if (text.matches("\\d{1,9}")) {
                return Integer.valueOf(text);
            }
            throw new TypeConversionException(
                    text.matches("\\d+:\\d+")
                            ? "jccl run needs a fixed number of nodes; for a range, use "
                                    + TORCHRUN.formatted(text)
                            : "'" + text + "' is not a number of nodes");
        }
    }

    /** Reads a time such as 90 or 1.5. */
    static final class Seconds implements ITypeConverter<Duration> {

        private static final BigDecimal MOST = BigDecimal.valueOf(Long.MAX_VALUE / 1_000_000_000);

        @Override
        public Duration convert(String text) {
            if (text.matches("\\d{1,18}(\\.\\d{1,18})?|\\.\\d{1,18}")) {
                BigDecimal seconds = new BigDecimal(text);
                if (seconds.compareTo(MOST) <= 0) {
                    return Duration.ofNanos(seconds.movePointRight(9).longValue());
                }
            }
            throw new TypeConversionException(
                    "'" + text + "' is not a number of seconds, such as 90 or 1.5");
        }
    }
}
