package org.jccl.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.testing.Patience.enough;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jccl.cli.info.Bindings;
import org.jccl.testing.FreePort;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * {@code jccl run} in two pods with two ranks each, as operators of Kubernetes set their variables;
 * where each says so is named at {@code ClusterEnvironmentTest}.
 */
@Timeout(60)
@Execution(ExecutionMode.CONCURRENT)
@Tag("all")
class PodsTest {

    /** The variables of a pod, on a host and port where the first one serves the store. */
    private interface Pod {
        Map<String, String> variables(String number, String port);
    }

    private static final Pod PYTORCH_JOB =
            (number, port) ->
                    Map.of(
                            "KUBERNETES_SERVICE_HOST", "10.96.0.1",
                            "MASTER_ADDR", "127.0.0.1",
                            "MASTER_PORT", port,
                            "WORLD_SIZE", "4",
                            "RANK", number,
                            "PET_NPROC_PER_NODE", "2",
                            "PET_NODE_RANK", number,
                            "PET_NNODES", "2");

    private static final Pod TRAIN_JOB =
            (number, port) ->
                    Map.of(
                            "KUBERNETES_SERVICE_HOST", "10.96.0.1",
                            "JOB_COMPLETION_INDEX", number,
                            "PET_NPROC_PER_NODE", "2",
                            "PET_NODE_RANK", number,
                            "PET_NNODES", "2",
                            "PET_MASTER_ADDR", "127.0.0.1",
                            "PET_MASTER_PORT", port);

    /** Beside what the manifest itself has. */
    private static final Pod INDEXED_JOB =
            (number, port) ->
                    Map.of(
                            "KUBERNETES_SERVICE_HOST",
                            "10.96.0.1",
                            "JOB_COMPLETION_INDEX",
                            number,
                            "PET_MASTER_ADDR",
                            "127.0.0.1",
                            "PET_MASTER_PORT",
                            port);

    private static final Pod VOLCANO =
            (number, port) ->
                    Map.of(
                            "KUBERNETES_SERVICE_HOST", "10.96.0.1",
                            "VC_TASK_INDEX", "0",
                            "MASTER_ADDR", "127.0.0.1",
                            "MASTER_PORT", port,
                            "WORLD_SIZE", "2",
                            "RANK", number);

    private static final Pod ASCEND =
            (number, port) ->
                    Map.of(
                            "KUBERNETES_SERVICE_HOST", "10.96.0.1",
                            "MINDX_TASK_ID", "0c7d3a5e",
                            "LOCAL_WORLD_SIZE", "2",
                            "WORLD_SIZE", "4",
                            "LOCAL_RANK", "0,1",
                            "MASTER_ADDR", "127.0.0.1",
                            "MASTER_PORT", port,
                            "RANK", number);

    /** With the manifest whose command the pods have. */
    static Stream<Arguments> operators() {
        return Stream.of(
                Arguments.of(Named.of("PyTorchJob", PYTORCH_JOB), "pytorchjob.yaml"),
                Arguments.of(Named.of("TrainJob", TRAIN_JOB), "trainjob.yaml"),
                Arguments.of(Named.of("indexed Job", INDEXED_JOB), "job.yaml"),
                Arguments.of(Named.of("Volcano", VOLCANO), "volcano.yaml"),
                Arguments.of(Named.of("Ascend", ASCEND), "ascendjob.yaml"));
    }

    private static Process jccl(Map<String, String> variables, List<String> options)
            throws IOException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of("-XX:TieredStopAtLevel=1", "-cp"));
        command.addAll(List.of(System.getProperty("java.class.path"), Jccl.class.getName()));
        command.addAll(
                List.of("run", "--timeout", "" + enough(Duration.ofSeconds(60)).toSeconds()));
        command.addAll(options);
        String say = "echo rank $RANK of $WORLD_SIZE, $LOCAL_RANK of $LOCAL_WORLD_SIZE here";
        command.addAll(List.of("--", "sh", "-c", say));
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        builder.environment().putAll(variables);
        return builder.start();
    }

    @ParameterizedTest
    @MethodSource("operators")
    void podsMakeOneWorld(Pod pod, String name) throws Exception {
        Manifest manifest = Manifest.read(name);
        String port = Integer.toString(FreePort.next());
        List<Process> pods = new ArrayList<>();
        for (String number : List.of("0", "1")) {
            Map<String, String> variables = new HashMap<>(manifest.variables(number));
            variables.putAll(pod.variables(number, port));
            pods.add(jccl(variables, manifest.options()));
        }
        StringBuilder said = new StringBuilder();
        for (Process each : pods) {
            said.append(new String(each.getInputStream().readAllBytes(), StandardCharsets.UTF_8));
            assertThat(each.waitFor()).as(said.toString()).isZero();
        }
        for (int rank = 0; rank < 4; rank++) {
            assertThat(said)
                    .contains("[%d] rank %d of 4, %d of 2 here".formatted(rank, rank, rank % 2));
        }
    }

    /**
     * The name of a pod is known when it runs; the other one may run long before. Java remembers
     * for ten seconds that a name is not known.
     */
    @Test
    void theNameOfTheFirstPodMayBecomeKnownLater(@TempDir Path folder) throws Exception {
        Path hosts = folder.resolve("hosts");
        String port = Integer.toString(FreePort.next());
        List<Process> pods = new ArrayList<>();
        for (String number : List.of("0", "1")) {
            Map<String, String> variables = new HashMap<>(TRAIN_JOB.variables(number, port));
            variables.put("PET_MASTER_ADDR", "digits-node-0-0.digits");
            variables.put("JAVA_TOOL_OPTIONS", "-Djdk.net.hosts.file=" + hosts);
            pods.add(jccl(variables, List.of()));
        }
        List<String> lines = new ArrayList<>();
        try (BufferedReader second = pods.get(1).inputReader()) {
            for (String line = second.readLine(); line != null; line = second.readLine()) {
                lines.add(line);
                if (line.contains("digits-node-0-0.digits is not known; the lookup is repeated")) {
                    Path draft = folder.resolve("draft");
                    Files.writeString(draft, "127.0.0.1 digits-node-0-0.digits\n");
                    Files.move(draft, hosts);
                }
            }
        }
        assertThat(pods.get(1).waitFor()).as(lines.toString()).isZero();
        assertThat(lines).contains("[3] rank 3 of 4, 1 of 2 here");
        String first =
                new String(pods.get(0).getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(pods.get(0).waitFor()).as(first).isZero();
    }

    /** Kubeflow's default. */
    @Test
    void autoCountsWhatThePodHas() throws Exception {
        String port = Integer.toString(FreePort.next());
        Map<String, String> variables = new HashMap<>(PYTORCH_JOB.variables("0", port));
        variables.put("PET_NNODES", "1");
        variables.put("PET_NPROC_PER_NODE", "auto");
        Process pod = jccl(variables, List.of());
        String said = new String(pod.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(pod.waitFor()).as(said).isZero();
        int devices = Bindings.devices();
        int ranks = devices > 0 ? devices : Runtime.getRuntime().availableProcessors();
        assertThat(said.lines().filter(line -> line.contains(" rank "))).hasSize(ranks);
    }

    private static String nodes(Map<String, String> variables) {
        picocli.CommandLine.Model.OptionSpec option =
                picocli.CommandLine.Model.OptionSpec.builder("--nnodes").build();
        return new PodDefaults(variables).defaultValue(option);
    }

    @Test
    void oneLauncherANodeOfSlurmTakesItsNodes() {
        Map<String, String> step =
                Map.of(
                        "SLURM_STEP_NUM_NODES", "2",
                        "SLURM_STEP_NUM_TASKS", "2",
                        "SLURM_NODEID", "1");
        assertThat(nodes(step)).isEqualTo("2");
        picocli.CommandLine.Model.OptionSpec rank =
                picocli.CommandLine.Model.OptionSpec.builder("--node-rank").build();
        assertThat(new PodDefaults(step).defaultValue(rank)).isEqualTo("1");
        Map<String, String> severalTasks = new HashMap<>(step);
        severalTasks.put("SLURM_STEP_NUM_TASKS", "4");
        assertThat(nodes(severalTasks)).isNull();
    }

    @Test
    void onlyPodsArePods() {
        Map<String, String> pod = VOLCANO.variables("1", "1");
        assertThat(nodes(pod)).isEqualTo("2");
        for (String needed : List.of("KUBERNETES_SERVICE_HOST", "RANK", "MASTER_ADDR")) {
            Map<String, String> less = new HashMap<>(pod);
            less.remove(needed);
            assertThat(nodes(less)).as("without %s", needed).isNull();
        }
        for (String other : List.of("LOCAL_RANK", "TORCHELASTIC_RUN_ID", "PET_NNODES")) {
            Map<String, String> more = new HashMap<>(pod);
            more.put(other, "0");
            assertThat(nodes(more)).as("with %s", other).isNull();
        }
        Map<String, String> odd = new HashMap<>(ASCEND.variables("1", "1"));
        odd.put("LOCAL_WORLD_SIZE", "3");
        assertThat(nodes(odd)).isEqualTo("WORLD_SIZE=4 / LOCAL_WORLD_SIZE=3");
    }
}
