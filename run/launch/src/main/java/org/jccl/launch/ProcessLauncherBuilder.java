package org.jccl.launch;

import static org.jccl.launch.LaunchSettings.check;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import org.jccl.TlsCredentials;
import org.jccl.UsageException;
import org.jccl.bootstrap.ErrorFile;
import org.jccl.internal.rendezvous.Endpoint;
import org.jccl.internal.rendezvous.StoreUrl;
import org.jccl.spi.Durations;

/**
 * Describes a job for {@link ProcessLauncher}. Call {@link #mainClass} or {@link #command}; all
 * other settings have defaults. Not thread-safe.
 *
 * <p>Every method throws {@link UsageException} if an argument is null or outside its range, and
 * returns this builder.
 */
public final class ProcessLauncherBuilder {

    private static final int MAX_PORT = 65535;

    private final int ranks;
    private String role = "default";
    private final List<LaunchRole> moreRoles = new ArrayList<>();
    private Path java = JavaCommand.ownExecutable();
    private List<String> jvmArguments = List.of();
    private Optional<String> classPath = Optional.empty();
    private Class<?> mainClass;
    private List<String> arguments = List.of();
    private List<String> command;
    private final Map<String, String> environment = new LinkedHashMap<>();
    private Path directory;
    private int nodes = 1;
    private int nodeRank;
    private String masterAddress = "127.0.0.1";
    private int masterPort;
    private StoreUrl service;
    private String runId = UUID.randomUUID().toString();
    private int maxRestarts;
    private LostRanks lostRanks = LostRanks.STOP_OTHERS;
    private OutputHandler output = OutputHandler.prefixed(System.out, System.err);
    private Path logs;
    private RankStreams tee = RankLogs.NONE.tee();
    private RankStreams redirects = RankLogs.NONE.redirects();
    private Set<Integer> shown = Set.of();
    private boolean input;
    private Duration timeout;
    private Duration grace = Duration.ofSeconds(5);

    ProcessLauncherBuilder(int ranks) {
        checkRanks(ranks);
        this.ranks = ranks;
    }

    /**
     * Runs a class's {@code main} in each rank's JVM.
     *
     * @param mainClass a class with a {@code main} method. If it is in a module, the ranks run that
     *     module with this JVM's module path, or from the same {@code jlink} image
     * @param arguments the arguments of {@code main}
     * @return this
     */
    public ProcessLauncherBuilder mainClass(Class<?> mainClass, String... arguments) {
        this.mainClass = given(mainClass, "main class");
        this.arguments = words(asList(arguments, "list of arguments"), "list of arguments");
        this.command = null;
        return this;
    }

    /**
     * Runs a command in each rank instead of a class. {@link #java}, {@link #jvmArguments} and
     * {@link #classPath} do not apply to it.
     *
     * @param command the program, searched for on the {@code PATH}, and its arguments
     * @return this
     */
    public ProcessLauncherBuilder command(List<String> command) {
        this.command = words(command, "command");
        check(!command.isEmpty(), "the command is empty; name a program");
        return this;
    }

    /**
     * Names the role of the ranks of {@link #mainClass} or {@link #command}, for {@code ROLE_NAME}.
     *
     * @param name any text; {@code default} by default
     * @return this
     */
    public ProcessLauncherBuilder role(String name) {
        this.role = text(name, "name of the role");
        return this;
    }

    /**
     * Adds ranks that run another command in the same world, for instance Python ranks beside Java
     * ranks. The ranks of a role have consecutive numbers over all nodes, in the order of the
     * calls. May be called several times.
     *
     * @param name name of the role, for {@code ROLE_NAME}
     * @param ranks the number of its ranks that this launcher starts
     * @param command the program, searched for on the {@code PATH}, and its arguments
     * @return this
     */
    public ProcessLauncherBuilder addRole(String name, int ranks, List<String> command) {
        checkRanks(ranks);
        String newName = text(name, "name of the role");
        List<String> words = words(command, "command of role " + name);
        check(!words.isEmpty(), "the command of role " + name + " is empty; name a program");
        moreRoles.add(new LaunchRole(newName, ranks, words));
        return this;
    }

    /**
     * Sets the JVM. A JVM of version 24 or later gets {@code --enable-native-access=ALL-UNNAMED}.
     *
     * @param executable a {@code java} executable; by default this JVM's own
     * @return this
     */
    public ProcessLauncherBuilder java(Path executable) {
        this.java = given(executable, "java executable");
        return this;
    }

    /**
     * Sets arguments of the ranks' JVMs, for instance {@code -Xmx4g}.
     *
     * @param arguments the arguments; none by default
     * @return this
     */
    public ProcessLauncherBuilder jvmArguments(String... arguments) {
        this.jvmArguments =
                words(asList(arguments, "list of JVM arguments"), "list of JVM arguments");
        return this;
    }

    /**
     * Sets the class path of the ranks' JVMs.
     *
     * @param classPath a class path, also for a main class of a module; by default the class path
     *     and the module path of this JVM
     * @return this
     */
    public ProcessLauncherBuilder classPath(String classPath) {
        this.classPath = Optional.of(given(classPath, "class path"));
        return this;
    }

    /**
     * Adds an environment variable to those of this process. The variables that describe the rank
     * cannot be replaced.
     *
     * @param name name of the variable
     * @param value its value
     * @return this
     */
    public ProcessLauncherBuilder environment(String name, String value) {
        text(name, "name of the variable");
        check(
                !name.isEmpty() && name.indexOf('=') < 0,
                "the name of the variable is '" + name + "'; it must not be empty or contain '='");
        environment.put(name, text(value, "value of " + name));
        return this;
    }

    /**
     * Sets the ranks' working directory.
     *
     * @param directory an existing directory; by default this process's
     * @return this
     */
    public ProcessLauncherBuilder directory(Path directory) {
        this.directory = given(directory, "working directory");
        return this;
    }

    /**
     * Sets the number of launchers of the job, each on its own node. The launcher of node 0 serves
     * the store. All launchers must have the same number of ranks, nodes and restarts, the same
     * master and the same run id.
     *
     * @param nodes number of launchers
     * @param nodeRank the number of this launcher, from 0. Its first rank of a role is {@code
     *     nodeRank} times the role's ranks on a node
     * @return this
     */
    public ProcessLauncherBuilder nodes(int nodes, int nodeRank) {
        check(nodes >= 1, "the number of nodes is " + nodes + "; it must be at least 1");
        check(
                nodeRank >= 0 && nodeRank < nodes,
                "node rank " + nodeRank + " does not exist among " + nodes + " nodes");
        this.nodes = nodes;
        this.nodeRank = nodeRank;
        return this;
    }

    /**
     * Sets where the launcher of node 0 serves the store.
     *
     * @param address a name or address of node 0; the store listens on its interface. The default
     *     is {@code 127.0.0.1}, which only ranks of one host can reach
     * @param port a port of node 0. 0, the default, selects any free port and requires a single
     *     node
     * @return this
     */
    public ProcessLauncherBuilder master(String address, int port) {
        check(
                port >= 0 && port <= MAX_PORT,
                "master port " + port + " is not between 0 and " + MAX_PORT);
        this.masterAddress = Endpoint.host("master address", text(address, "master address"));
        this.masterPort = port;
        return this;
    }

    /**
     * Uses the store of a service instead of the one that the launcher of node 0 serves. A service
     * survives the loss of any host. Replaces {@link #master}. Ranks get its URL in {@code
     * JCCL_STORE}. Each run uses a part of the store with the run id as its name, so runs that
     * share a service need different {@linkplain #runId ids}.
     *
     * @param url for instance {@code etcd://host1:2379,host2:2379/jobs}, which needs the artifact
     *     {@code jccl-etcd}; the same for all launchers
     * @return this
     */
    public ProcessLauncherBuilder store(String url) {
        this.service = StoreUrl.parse(text(url, "URL of the store"));
        return this;
    }

    /**
     * Names the run.
     *
     * @param runId any text; by default a random one
     * @return this
     */
    public ProcessLauncherBuilder runId(String runId) {
        this.runId = text(runId, "run id");
        check(!runId.isBlank(), "the run id is blank");
        return this;
    }

    /**
     * Restarts all ranks, with an empty store, when a rank fails.
     *
     * @param restarts the maximum number of restarts; 0 by default
     * @return this
     */
    public ProcessLauncherBuilder maxRestarts(int restarts) {
        check(restarts >= 0, "the number of restarts is " + restarts + "; it must be at least 0");
        this.maxRestarts = restarts;
        return this;
    }

    /**
     * Keeps the other ranks running when one fails, for programs that continue with {@link
     * org.jccl.ProcessGroup#shrink}. The job succeeds if a rank exits with 0; failures of other
     * ranks are logged. Supported only on a single node.
     *
     * @return this
     */
    public ProcessLauncherBuilder keepSurvivors() {
        this.lostRanks = LostRanks.KEEP_OTHERS;
        return this;
    }

    /**
     * Restarts a failed rank with the same variables and keeps the others running, for {@linkplain
     * org.jccl.ProcessGroupBuilder#reconfigurable reconfigurable} worlds. Each launcher does so at
     * most {@link #maxRestarts} times; then the job fails. It also fails if a rank exits with 64,
     * because a restart would fail the same way. It succeeds if all ranks have exited with 0. The
     * log files of a restarted rank are in the folder {@code <local rank>.<n>}.
     *
     * @return this
     */
    public ProcessLauncherBuilder replaceLostRanks() {
        this.lostRanks = LostRanks.REPLACE;
        return this;
    }

    /**
     * Sets the handler of the lines that the ranks print.
     *
     * @param output the handler; by default each line goes to standard output or error of this
     *     process, after its rank
     * @return this
     */
    public ProcessLauncherBuilder output(OutputHandler output) {
        this.output = given(output, "output handler");
        return this;
    }

    /**
     * Lets rank 0 of the job read the standard input of this process. Without this, and on all
     * other ranks, the standard input is empty.
     *
     * @return this
     */
    public ProcessLauncherBuilder inheritInput() {
        this.input = true;
        return this;
    }

    /**
     * Selects the ranks whose lines the output handler gets. Log files are not affected.
     *
     * @param localRanks ranks of this node; by default all
     * @return this
     */
    public ProcessLauncherBuilder show(Collection<Integer> localRanks) {
        Set<Integer> copy = new HashSet<>();
        for (Object each : given(localRanks, "list of local ranks")) {
            copy.add(localRank(each));
        }
        check(!copy.isEmpty(), "the list of local ranks to show is empty");
        this.shown = copy;
        return this;
    }

    /**
     * Writes the output of the ranks, byte for byte, to {@code stdout.log} and {@code stderr.log}
     * in the folder {@code <run id>/attempt_<n>/<local rank>}. That folder also has {@code
     * error.json} of a failed rank (see {@link ErrorFile}). The {@code hs_err} files of JVMs that
     * {@link #mainClass} starts are beside these folders. If the folder of the run id exists, the
     * job uses {@code <run id>.2} or a higher number, so that no job overwrites the files of
     * another.
     *
     * @param folder the folder; created if it does not exist
     * @param tee streams that go to the output handler as well as to a file
     * @param redirects streams that go to a file only
     * @return this
     */
    public ProcessLauncherBuilder logs(Path folder, OutputStreams tee, OutputStreams redirects) {
        this.logs = given(folder, "log folder");
        this.tee = new RankStreams(given(tee, "choice of streams to tee"), Map.of());
        this.redirects =
                new RankStreams(given(redirects, "choice of streams to redirect"), Map.of());
        return this;
    }

    /**
     * Writes the output of single ranks to files, see {@link #logs(Path, OutputStreams,
     * OutputStreams)}.
     *
     * @param folder the folder; created if it does not exist
     * @param tee streams that go to the output handler as well as to a file, by local rank
     * @param redirects streams that go to a file only, by local rank
     * @return this
     */
    public ProcessLauncherBuilder logs(
            Path folder, Map<Integer, OutputStreams> tee, Map<Integer, OutputStreams> redirects) {
        this.logs = given(folder, "log folder");
        this.tee = ofSome(tee, "choice of streams to tee");
        this.redirects = ofSome(redirects, "choice of streams to redirect");
        return this;
    }

    private static RankStreams ofSome(Map<Integer, OutputStreams> streams, String what) {
        Map<Integer, OutputStreams> copy = new HashMap<>();
        for (Map.Entry<?, ?> each : given(streams, what).entrySet()) {
            check(
                    each.getValue() instanceof OutputStreams,
                    "the " + what + " of local rank " + each.getKey() + " is " + each.getValue());
            copy.put(localRank(each.getKey()), (OutputStreams) each.getValue());
        }
        return new RankStreams(OutputStreams.NONE, copy);
    }

    private static int localRank(Object given) {
        check(
                given instanceof Integer number && number >= 0,
                "there is no local rank " + given + "; give numbers from 0");
        return (Integer) given;
    }

    /**
     * Limits the time of the job, including all restarts.
     *
     * @param timeout the limit, more than zero; none by default
     * @return this
     */
    public ProcessLauncherBuilder timeout(Duration timeout) {
        Duration limit = given(timeout, "timeout");
        check(
                !limit.isNegative() && !limit.isZero(),
                "the timeout is " + Durations.text(limit) + "; give a duration of more than 0");
        this.timeout = limit;
        return this;
    }

    /**
     * Sets how long a rank may take to stop before it is killed.
     *
     * @param grace the time; 5 s by default
     * @return this
     */
    public ProcessLauncherBuilder grace(Duration grace) {
        Duration time = given(grace, "grace period");
        check(
                !time.isNegative(),
                "the grace period is " + Durations.text(time) + "; give a duration of 0 or more");
        this.grace = time;
        return this;
    }

    /**
     * Encrypts the store of the job, and the connections between its ranks, with TLS: see {@link
     * TlsCredentials}. The ranks get the absolute paths in {@code JCCL_TLS_CERT}, {@code
     * JCCL_TLS_KEY} and {@code JCCL_TLS_CA}. By default, the launcher uses these variables of its
     * own environment, if they are set. PyTorch ranks cannot use such a store.
     *
     * @param certificate the file of the certificate of this host's processes
     * @param key the file of its private key
     * @param authorities the file of the certificates of the job's authorities
     * @return this
     */
    public ProcessLauncherBuilder tls(Path certificate, Path key, Path authorities) {
        environment.put(TlsCredentials.CERTIFICATE_VARIABLE, absolute(certificate, "certificate"));
        environment.put(TlsCredentials.KEY_VARIABLE, absolute(key, "private key"));
        environment.put(TlsCredentials.AUTHORITIES_VARIABLE, absolute(authorities, "authorities"));
        return this;
    }

    private static String absolute(Path file, String what) {
        return given(file, "file of the " + what).toAbsolutePath().toString();
    }

    /** Reads the certificates that the ranks will read. */
    private Optional<TlsCredentials> credentials() {
        Map<String, String> variables = new HashMap<>(System.getenv());
        variables.putAll(environment);
        return TlsCredentials.in(variables);
    }

    /**
     * Checks that the job is complete.
     *
     * @return the launcher; later calls on this builder do not change it
     * @throws UsageException if there is nothing to run, two roles have the same name, there are
     *     several nodes and no master port, {@link #keepSurvivors} is set with several nodes, the
     *     run id leads out of the log folder, there are more ranks than a world may have, or the
     *     TLS credentials cannot be read
     * @throws org.jccl.BootstrapException if the java executable does not report its version
     */
    public ProcessLauncher build() {
        check(command != null || mainClass != null, "nothing to run: give a main class or command");
        List<LaunchRole> roles = new ArrayList<>();
        roles.add(new LaunchRole(role, ranks, command != null ? command : javaCommand()));
        roles.addAll(moreRoles);
        return new ProcessLauncher(
                new LaunchSettings(
                        List.copyOf(roles),
                        Map.copyOf(environment),
                        Optional.ofNullable(directory),
                        nodes,
                        nodeRank,
                        masterAddress,
                        masterPort,
                        Optional.ofNullable(service).map(url -> url.below(runId)),
                        runId,
                        maxRestarts,
                        lostRanks,
                        output,
                        input,
                        new RankLogs(Optional.ofNullable(logs), tee, redirects, shown),
                        Optional.ofNullable(timeout),
                        grace,
                        credentials()));
    }

    private List<String> javaCommand() {
        List<String> options = new ArrayList<>();
        if (logs != null) {
            options.add("-XX:ErrorFile=" + logs.toAbsolutePath().resolve("hs_err_pid%p.log"));
        }
        options.addAll(jvmArguments);
        return JavaCommand.of(java, options, classPath, mainClass, arguments);
    }

    private static void checkRanks(int ranks) {
        check(ranks >= 1, "the number of ranks is " + ranks + "; start at least 1");
    }

    private static List<String> asList(String[] arguments, String what) {
        return Arrays.asList(given(arguments, what));
    }

    private static List<String> words(List<String> list, String what) {
        List<String> words = new ArrayList<>(given(list, what));
        words.forEach(word -> text(word, "word of the " + what));
        return List.copyOf(words);
    }

    /** Rejects a text with the character 0, which no process can receive. */
    private static String text(String argument, String what) {
        given(argument, what);
        check(argument.indexOf('\0') < 0, "the " + what + " contains a NUL character");
        return argument;
    }

    private static <T> T given(T argument, String what) {
        check(argument != null, "the " + what + " is null");
        return argument;
    }
}
