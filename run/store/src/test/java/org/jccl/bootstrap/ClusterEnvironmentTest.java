package org.jccl.bootstrap;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.text.MessageFormat;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Filter;
import java.util.logging.Logger;
import java.util.stream.Stream;
import org.jccl.BootstrapException;
import org.jccl.UsageException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class ClusterEnvironmentTest {

    private static final Map<String, String> TORCHRUN =
            Map.of(
                    "TORCHELASTIC_RUN_ID", "none",
                    "TORCHELASTIC_USE_AGENT_STORE", "True",
                    "RANK", "5",
                    "WORLD_SIZE", "8",
                    "LOCAL_RANK", "1",
                    "LOCAL_WORLD_SIZE", "4",
                    "MASTER_ADDR", "node0",
                    "MASTER_PORT", "29400");

    private static Membership read(Map<String, String> environment) {
        return ClusterEnvironment.readFirst(environment);
    }

    private static Map<String, String> with(Map<String, String> base, String... pairs) {
        Map<String, String> all = new HashMap<>(base);
        for (int i = 0; i < pairs.length; i += 2) {
            all.put(pairs[i], pairs[i + 1]);
        }
        return all;
    }

    private static Map<String, String> without(Map<String, String> base, String name) {
        Map<String, String> rest = new HashMap<>(base);
        rest.remove(name);
        return rest;
    }

    @Test
    void theLogTellsThePlaceToWhoAsksForDetails() {
        Logger logger = Logger.getLogger(ClusterEnvironment.class.getName());
        List<String> lines = new CopyOnWriteArrayList<>();
        Filter before = logger.getFilter();
        java.util.logging.Level quiet = logger.getLevel();
        logger.setLevel(java.util.logging.Level.FINE);
        logger.setFilter(
                line -> {
                    lines.add(MessageFormat.format(line.getMessage(), line.getParameters()));
                    return true;
                });
        try {
            read(with(TORCHRUN, "RANK", "0", "LOCAL_RANK", "0", "TORCHELASTIC_RESTART_COUNT", "2"));
        } finally {
            logger.setFilter(before);
            logger.setLevel(quiet);
        }
        assertThat(lines)
                .containsExactly(
                        "started by torchrun: rank 0 of 8, local rank 0, store on node0 port 29400,"
                                + " restart 2");
    }

    @Test
    void torchrun() {
        assertThat(read(TORCHRUN))
                .isEqualTo(
                        new Membership(
                                "torchrun",
                                5,
                                8,
                                1,
                                4,
                                Optional.of("node0"),
                                Optional.of(29400),
                                true,
                                0));
    }

    @Test
    void torchrunTellsHowOftenItStartedTheRanks() {
        assertThat(read(with(TORCHRUN, "TORCHELASTIC_RESTART_COUNT", "3")).restarts()).isEqualTo(3);
    }

    @Test
    void jcclRunComesBeforeTorchrun() {
        assertThat(read(with(TORCHRUN, "JCCL_RUN_ID", "r")).source()).isEqualTo("jccl run");
    }

    @ParameterizedTest
    @ValueSource(strings = {"true", "1", "TRUE", ""})
    void onlyTheExactTextMeansThatTheStoreIsHosted(String text) {
        assertThat(read(with(TORCHRUN, "TORCHELASTIC_USE_AGENT_STORE", text)).storeIsHosted())
                .isFalse();
    }

    @ParameterizedTest
    @ValueSource(strings = {"RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"})
    void aMissingVariableIsNamedBesideTheOthers(String missing) {
        assertThatThrownBy(() -> read(without(TORCHRUN, missing)))
                .isInstanceOf(BootstrapException.class)
                .hasMessageContaining("torchrun")
                .hasMessageContaining(missing + " is not set: set it to")
                .hasMessageContaining(missing + " (not set)")
                .hasMessageContaining(missing.equals("RANK") ? "WORLD_SIZE=8" : "RANK=5");
    }

    @ParameterizedTest
    @CsvSource({
        "RANK, x, 'RANK=x must be a number, 0 or more'",
        "RANK, -1, 'RANK=-1 must be a number, 0 or more'",
        "RANK, 8, 'rank 8 must be less than world size 8'",
        "WORLD_SIZE, 0, 'WORLD_SIZE=0 must be a number, 1 or more'",
        "LOCAL_RANK, 4, 'local rank 4 must be less than local world size 4'",
        "LOCAL_WORLD_SIZE, 9, 'local world size 9 exceeds world size 8'",
        "MASTER_PORT, 65536, 'MASTER_PORT=65536 must be a number, 0 to 65535'",
        "MASTER_PORT, http, 'MASTER_PORT=http must be a number, 0 to 65535'"
    })
    void aBadValueIsNamed(String name, String value, String explanation) {
        assertThatThrownBy(() -> read(with(TORCHRUN, name, value)))
                .isInstanceOf(BootstrapException.class)
                .hasMessageContaining(explanation)
                .hasMessageContaining("LOCAL_RANK=");
    }

    @Test
    void everythingThatIsWrongIsSaidAtOnce() {
        assertThatThrownBy(() -> read(Map.of("TORCHELASTIC_RUN_ID", "none", "WORLD_SIZE", "two")))
                .hasMessageContaining("RANK is not set")
                .hasMessageContaining("WORLD_SIZE=two")
                .hasMessageContaining("LOCAL_RANK is not set")
                .hasMessageContaining("MASTER_ADDR is not set")
                .hasMessageContaining("MASTER_PORT is not set");
    }

    private static final Map<String, String> OPEN_MPI =
            Map.of(
                    "OMPI_COMM_WORLD_RANK", "3",
                    "OMPI_COMM_WORLD_SIZE", "4",
                    "OMPI_COMM_WORLD_LOCAL_RANK", "1",
                    "OMPI_COMM_WORLD_LOCAL_SIZE", "2");

    @Test
    void openMpiNamesNoMaster() {
        assertThat(read(OPEN_MPI))
                .isEqualTo(
                        new Membership(
                                "Open MPI",
                                3,
                                4,
                                1,
                                2,
                                Optional.empty(),
                                Optional.empty(),
                                false,
                                0));
        Membership told = read(with(OPEN_MPI, "MASTER_ADDR", "h", "MASTER_PORT", "1"));
        assertThat(told.masterAddress()).contains("h");
        assertThat(told.masterPort()).contains(1);
    }

    @Test
    void openMpiKnowsBetterThanSlurmAroundIt() {
        assertThat(read(with(OPEN_MPI, "SLURM_PROCID", "0", "SLURM_NTASKS", "1")).rank())
                .isEqualTo(3);
    }

    @Test
    void aRankThatContradictsTheLauncherIsRefused() {
        assertThatThrownBy(() -> read(with(OPEN_MPI, "RANK", "1", "WORLD_SIZE", "9")))
                .isInstanceOf(BootstrapException.class)
                .hasMessageContaining("RANK=1 contradicts OMPI_COMM_WORLD_RANK, which gives 3")
                .hasMessageContaining("WORLD_SIZE=9 contradicts OMPI_COMM_WORLD_SIZE");
    }

    @Test
    void halfSetOpenMpiIsExplained() {
        assertThatThrownBy(() -> read(Map.of("OMPI_COMM_WORLD_SIZE", "4")))
                .hasMessageContaining("OMPI_COMM_WORLD_RANK is not set")
                .hasMessageContaining("OMPI_COMM_WORLD_SIZE=4");
    }

    @Test
    void hydra() {
        Map<String, String> hydra =
                Map.of(
                        "PMI_RANK", "1",
                        "PMI_SIZE", "2",
                        "MPI_LOCALRANKID", "1",
                        "MPI_LOCALNRANKS", "2");
        assertThat(read(hydra))
                .isEqualTo(
                        new Membership(
                                "MPICH (Hydra)",
                                1,
                                2,
                                1,
                                2,
                                Optional.empty(),
                                Optional.empty(),
                                false,
                                0));
        assertThatThrownBy(() -> read(without(hydra, "PMI_SIZE")))
                .hasMessageContaining("PMI_SIZE is not set");
    }

    /** Rank 5 of 8, the second of four on its host, as each launcher describes it. */
    static Stream<Map<String, String>> launchersOfMpi() {
        return Stream.of(
                Map.of(
                        "source", "Cray PALS",
                        "PMI_RANK", "5",
                        "PMI_SIZE", "8",
                        "PMI_LOCAL_RANK", "1",
                        "PMI_LOCAL_SIZE", "4",
                        "PALS_RANKID", "5",
                        "PALS_LOCAL_RANKID", "1"),
                Map.of(
                        "source", "MPICH (Hydra)",
                        "PMI_RANK", "5",
                        "PMI_SIZE", "8",
                        "PMI_LOCAL_RANK", "1",
                        "MPI_LOCALNRANKS", "4"),
                Map.of(
                        "source", "MVAPICH",
                        "MV2_COMM_WORLD_RANK", "5",
                        "MV2_COMM_WORLD_SIZE", "8",
                        "MV2_COMM_WORLD_LOCAL_RANK", "1",
                        "MV2_COMM_WORLD_LOCAL_SIZE", "4"),
                Map.of(
                        "source", "LSF (jsrun)",
                        "JSM_NAMESPACE_RANK", "5",
                        "JSM_NAMESPACE_SIZE", "8",
                        "JSM_NAMESPACE_LOCAL_RANK", "1",
                        "JSM_NAMESPACE_LOCAL_SIZE", "4"));
    }

    @ParameterizedTest
    @MethodSource("launchersOfMpi")
    void eachLauncherOfMpiTellsTheLocalRank(Map<String, String> environment) {
        Membership place = read(environment);
        assertThat(place.source()).isEqualTo(environment.get("source"));
        assertThat(place.rank()).isEqualTo(5);
        assertThat(place.worldSize()).isEqualTo(8);
        assertThat(place.localRank()).isEqualTo(1);
        assertThat(place.localWorldSize()).isEqualTo(4);
    }

    @Test
    void flux() {
        Map<String, String> task =
                Map.of(
                        "FLUX_TASK_RANK", "5",
                        "FLUX_JOB_SIZE", "8",
                        "FLUX_TASK_LOCAL_ID", "1",
                        "FLUX_JOB_ID", "f3",
                        "PMI_RANK", "5",
                        "PMI_SIZE", "8");
        assertThat(read(task).source()).isEqualTo("Flux");
        assertThat(read(task).localRank()).isEqualTo(1);
        assertThat(jobId(task)).contains("FLUX_JOB_ID=f3");
        Map<String, String> fluxInSlurm = new HashMap<>(SLURM);
        fluxInSlurm.putAll(task);
        assertThat(read(fluxInSlurm).source()).isEqualTo("Flux");
    }

    /** The second task of the second node of a step of five, on nodes with room for three. */
    private static final Map<String, String> SLURM =
            Map.ofEntries(
                    Map.entry("SLURM_PROCID", "4"),
                    Map.entry("SLURM_LOCALID", "1"),
                    Map.entry("SLURM_GTIDS", "3,4"),
                    Map.entry("SLURM_NTASKS", "5"),
                    Map.entry("SLURM_NTASKS_PER_NODE", "1"),
                    Map.entry("SLURM_STEP_NUM_TASKS", "5"),
                    Map.entry("SLURM_STEP_TASKS_PER_NODE", "3,2"),
                    Map.entry("SLURM_STEP_NODELIST", "gpu[07-08]"),
                    Map.entry("SLURM_JOB_NODELIST", "gpu[06-08]"),
                    Map.entry("SLURM_JOB_ID", "1234567"),
                    Map.entry("SLURM_STEP_ID", "0"));

    @Test
    void slurm() {
        Membership place = read(SLURM);
        assertThat(place)
                .isEqualTo(
                        new Membership(
                                "Slurm",
                                4,
                                5,
                                1,
                                2,
                                Optional.of("gpu07"),
                                place.masterPort(),
                                false,
                                0));
        assertThat(place.masterPort()).hasValueSatisfying(this::isSlurmPort);
    }

    /** A cluster's names of nodes may be unknown to the name service. */
    @Test
    void onOneNodeOfSlurmTheStoreIsOnLoopback() {
        assertThat(read(with(SLURM, "SLURM_STEP_NUM_NODES", "1")).masterAddress())
                .contains("127.0.0.1");
        assertThat(read(with(SLURM, "SLURM_STEP_NUM_NODES", "2")).masterAddress())
                .contains("gpu07");
    }

    @Test
    void theMasterIsAHost() {
        assertThat(read(with(TORCHRUN, "MASTER_ADDR", "[::1]")).masterAddress()).contains("::1");
        assertThatThrownBy(() -> read(with(TORCHRUN, "MASTER_ADDR", "node0:29500")))
                .hasMessageContaining("MASTER_ADDR=node0:29500: give the port separately")
                .hasMessageContaining("Write host");
    }

    /** Seen in Slurm 22.05: both components of a heterogeneous step have the ids of the first. */
    @Test
    void theIdOfAJobIsThatOfItsLauncher() {
        assertThat(jobId(SLURM)).contains("Slurm step 1234567.0");
        assertThat(jobId(with(SLURM, "SLURM_STEP_ID", "1"))).contains("Slurm step 1234567.1");
        Map<String, String> openMpi =
                Map.of(
                        "OMPI_COMM_WORLD_RANK", "0",
                        "OMPI_COMM_WORLD_SIZE", "2",
                        "PMIX_NAMESPACE", "1565589505",
                        "SLURM_JOB_ID", "7",
                        "SLURM_STEP_ID", "0");
        assertThat(jobId(openMpi)).contains("PMIX_NAMESPACE=1565589505");
        assertThat(jobId(Map.of("PMI_RANK", "0", "PMI_SIZE", "2"))).isEmpty();
        assertThat(jobId(Map.of("RANK", "0", "WORLD_SIZE", "2"))).isEmpty();
    }

    /** Each rank of Hydra is a descendant of a proxy with such an option. */
    @Test
    void theIdOfHydrasJobIsTheAddressThatItsProxiesHave() throws Exception {
        String command =
                "\"$0\" -XX:TieredStopAtLevel=1 '" + PrintsJobId.class.getName() + "'; exit";
        ProcessBuilder builder =
                new ProcessBuilder(
                        "sh",
                        "-c",
                        command,
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "--control-port",
                        "node1:35771");
        // Not in the command line, of which Java reads one page only.
        builder.environment().put("CLASSPATH", System.getProperty("java.class.path"));
        Process proxy = builder.redirectErrorStream(true).start();
        assertThat(new String(proxy.getInputStream().readAllBytes(), StandardCharsets.UTF_8))
                .contains("id --control-port=node1:35771.");
    }

    /** Prints the id of Hydra's job. */
    static final class PrintsJobId {

        private PrintsJobId() {}

        public static void main(String[] arguments) {
            System.out.println(
                    "id " + jobId(Map.of("PMI_RANK", "0", "PMI_SIZE", "2")).orElse("none") + ".");
        }
    }

    private static Optional<String> jobId(Map<String, String> environment) {
        return ClusterEnvironment.known().stream()
                .filter(launcher -> launcher.detect(environment))
                .findFirst()
                .flatMap(launcher -> launcher.jobId(environment));
    }

    private void isSlurmPort(int port) {
        assertThat(port).isBetween(15000, 24999);
    }

    @Test
    void stepsOfAJobThatRunAtOnceHaveDifferentPorts() {
        List<Optional<Integer>> ports =
                Stream.of("0", "1", "2", "10", "4294967290")
                        .map(step -> read(with(SLURM, "SLURM_STEP_ID", step)).masterPort())
                        .toList();
        assertThat(ports).doesNotHaveDuplicates().allSatisfy(port -> isSlurmPort(port.get()));
        assertThat(read(with(SLURM, "SLURM_JOB_ID", "1234568")).masterPort()).isNotIn(ports);
        assertThat(read(SLURM).masterPort()).isIn(ports);
    }

    /** There SLURM_NTASKS is what srun would start, not what this process is one of. */
    @Test
    void aBatchScriptIsNoRank() {
        Map<String, String> script =
                Map.of(
                        "SLURM_PROCID", "0",
                        "SLURM_LOCALID", "0",
                        "SLURM_GTIDS", "0",
                        "SLURM_NTASKS", "3",
                        "SLURM_NODELIST", "vm",
                        "SLURM_JOB_ID", "6");
        assertThatThrownBy(() -> read(script))
                .isInstanceOf(BootstrapException.class)
                .hasMessageContaining("no launcher recognised: no variable of jccl run, torchrun, ")
                .hasMessageContaining("Slurm, Cray PALS, Kubeflow is set, and none of RANK, ")
                .hasMessageContaining("srun");
    }

    /** As {@code srun --pty bash} and {@code salloc} with an interactive step start it. */
    private static final Map<String, String> SLURM_SHELL =
            Map.of(
                    "SLURM_PROCID", "0",
                    "SLURM_LOCALID", "0",
                    "SLURM_GTIDS", "0",
                    "SLURM_NTASKS", "3",
                    "SLURM_STEP_NUM_TASKS", "1",
                    "SLURM_STEP_NODELIST", "vm",
                    "SLURM_JOB_ID", "26",
                    "SLURM_STEP_ID", "4294967290");

    @Test
    void inAShellOfSlurmTheWorldIsOneUnlessItIsSaidOtherwise() {
        assertThat(read(SLURM_SHELL).worldSize()).isEqualTo(1);
        assertThat(read(with(SLURM_SHELL, "RANK", "0", "WORLD_SIZE", "1")).source())
                .isEqualTo("Slurm");
        Membership place =
                read(
                        with(
                                SLURM_SHELL,
                                "RANK",
                                "1",
                                "WORLD_SIZE",
                                "2",
                                "MASTER_ADDR",
                                "localhost",
                                "MASTER_PORT",
                                "7"));
        assertThat(place.rank()).isEqualTo(1);
        assertThat(place.worldSize()).isEqualTo(2);
    }

    @ParameterizedTest
    @CsvSource({"PMI_RANK, 4", "PMIX_RANK, 4", "PALS_RANKID, 4"})
    void slurmsPmiIsStillSlurm(String name, String rank) {
        assertThat(read(with(SLURM, name, rank)).source()).isEqualTo("Slurm");
    }

    @Test
    void mpichsLauncherInAStepIsNotSlurm() {
        Map<String, String> rank =
                with(
                        SLURM_SHELL,
                        "PMI_RANK",
                        "1",
                        "PMI_SIZE",
                        "3",
                        "MPI_LOCALRANKID",
                        "1",
                        "MPI_LOCALNRANKS",
                        "3");
        assertThat(read(rank).source()).isEqualTo("MPICH (Hydra)");
        assertThat(read(rank).worldSize()).isEqualTo(3);
    }

    @Test
    void slurmsMasterCanBeChosen() {
        Membership place = read(with(SLURM, "MASTER_ADDR", "h", "MASTER_PORT", "7"));
        assertThat(place.masterAddress()).contains("h");
        assertThat(place.masterPort()).contains(7);
    }

    @ParameterizedTest
    @CsvSource({
        "node1, node1",
        "'node1,node2', node1",
        "'node[1-3]', node1",
        "'node[01,05-07]', node01",
        "'node[007-012],login', node007",
        "'rack[0-1]node[3,5]', rack0node3",
        "'gpu[2-4]-ib', gpu2-ib",
        "'a-b.c,d', a-b.c"
    })
    void firstHostOfASlurmList(String list, String host) {
        assertThat(SlurmEnvironment.firstHost(list)).contains(host);
    }

    @ParameterizedTest
    @ValueSource(strings = {"node[1-", "node]1[", "node[]", "node[a-b]", ",node1"})
    void aBrokenSlurmListIsNamed(String list) {
        assertThatThrownBy(() -> read(with(SLURM, "SLURM_STEP_NODELIST", list)))
                .isInstanceOf(BootstrapException.class)
                .hasMessageContaining("SLURM_STEP_NODELIST=" + list + " is not a list of hosts")
                .hasMessageContaining("set MASTER_ADDR");
    }

    /** What Volcano's plugin sets: {@code distributed-framework/pytorch/pytorch.go}. */
    private static final Map<String, String> VOLCANO =
            Map.of(
                    "KUBERNETES_SERVICE_HOST", "10.96.0.1",
                    "VC_TASK_INDEX", "0",
                    "RANK", "1",
                    "WORLD_SIZE", "3",
                    "MASTER_ADDR", "job-master-0.job",
                    "MASTER_PORT", "23456");

    @Test
    void volcanoHasOneRankAPod() {
        assertThat(read(VOLCANO))
                .isEqualTo(
                        new Membership(
                                "Kubeflow",
                                1,
                                3,
                                0,
                                1,
                                Optional.of("job-master-0.job"),
                                Optional.of(23456),
                                false,
                                0));
        assertThatThrownBy(() -> read(without(VOLCANO, "MASTER_ADDR")))
                .hasMessageContaining("MASTER_ADDR is not set");
    }

    /**
     * The first worker of a PyTorchJob that says nothing of ranks a pod: {@code
     * pkg/controller.v1/pytorch/envvar.go} and {@code master.go} of Kubeflow's training operator,
     * whose webhook fills in "auto".
     */
    private static final Map<String, String> PYTORCH_JOB =
            Map.of(
                    "KUBERNETES_SERVICE_HOST", "10.96.0.1",
                    "PYTHONUNBUFFERED", "0",
                    "MASTER_PORT", "23456",
                    "MASTER_ADDR", "job-master-0",
                    "WORLD_SIZE", "2",
                    "RANK", "1",
                    "PET_NPROC_PER_NODE", "auto",
                    "PET_NODE_RANK", "1",
                    "PET_NNODES", "2");

    @Test
    void kubeflowPyTorchJobHasOneRankAPod() {
        Membership expected =
                new Membership(
                        "Kubeflow",
                        1,
                        2,
                        0,
                        1,
                        Optional.of("job-master-0"),
                        Optional.of(23456),
                        false,
                        0);
        assertThat(read(PYTORCH_JOB)).isEqualTo(expected);
        assertThat(read(with(PYTORCH_JOB, "PET_NPROC_PER_NODE", "1"))).isEqualTo(expected);
    }

    @Test
    void kubeflowPyTorchJobWithSeveralRanksAPodNeedsALauncherThere() {
        assertThatThrownBy(
                        () -> read(with(PYTORCH_JOB, "PET_NPROC_PER_NODE", "4", "WORLD_SIZE", "8")))
                .isInstanceOf(BootstrapException.class)
                .hasMessageContaining("PET_NPROC_PER_NODE=4")
                .hasMessageContaining("jccl run");
    }

    /**
     * {@code pkg/runtime/framework/plugins/torch/torch.go} of Kubeflow's trainer, for a job named
     * digits.
     */
    private static final Map<String, String> TRAINER =
            Map.of(
                    "KUBERNETES_SERVICE_HOST", "10.96.0.1",
                    "JOB_COMPLETION_INDEX", "1",
                    "PET_NODE_RANK", "1",
                    "PET_NNODES", "2",
                    "PET_NPROC_PER_NODE", "1",
                    "PET_MASTER_ADDR", "digits-node-0-0.digits",
                    "PET_MASTER_PORT", "29500");

    @Test
    void kubeflowTrainer() {
        assertThat(read(TRAINER))
                .isEqualTo(
                        new Membership(
                                "Kubeflow",
                                1,
                                2,
                                0,
                                1,
                                Optional.of("digits-node-0-0.digits"),
                                Optional.of(29500),
                                false,
                                0));
    }

    @Test
    void kubeflowTrainerWithSeveralRanksAPodNeedsALauncherThere() {
        for (String several : List.of("4", "auto", "gpu")) {
            assertThatThrownBy(() -> read(with(TRAINER, "PET_NPROC_PER_NODE", several)))
                    .isInstanceOf(BootstrapException.class)
                    .hasMessageContaining("PET_NPROC_PER_NODE=" + several)
                    .hasMessageContaining("jccl run");
        }
        assertThatThrownBy(() -> read(with(TRAINER, "PET_NNODES", "1:4")))
                .hasMessageContaining("PET_NNODES=1:4 must be a number");
    }

    /**
     * A rank on a worker of an MPIJob. The pod's own variables ({@code K_MPI_JOB_ROLE} and others
     * of {@code pkg/controller/mpi_job_controller.go}) do not come through ssh; what the launcher
     * passes with {@code -x} does.
     */
    @Test
    void mpiJob() {
        Map<String, String> rank =
                with(OPEN_MPI, "MASTER_ADDR", "digits-worker-0.digits", "MASTER_PORT", "29500");
        assertThat(read(rank).source()).isEqualTo("Open MPI");
        assertThat(read(rank).masterAddress()).contains("digits-worker-0.digits");
    }

    /** As the manifest of an indexed Job sets them. */
    @Test
    void indexedJob() {
        Map<String, String> pod =
                Map.of(
                        "KUBERNETES_SERVICE_HOST", "10.96.0.1",
                        "JOB_COMPLETION_INDEX", "1",
                        "PET_NNODES", "2",
                        "PET_NODE_RANK", "1",
                        "PET_MASTER_ADDR", "digits-0.digits");
        assertThat(read(pod).rank()).isEqualTo(1);
        assertThat(read(pod).worldSize()).isEqualTo(2);
        assertThat(read(pod).masterPort()).contains(29500);
    }

    @Test
    void aRankTableThatNothingHereReadsNamesTheArtifact() {
        assertThatThrownBy(() -> read(Map.of("RANK_ID", "0", "RANK_TABLE_FILE", "/hccl.json")))
                .isInstanceOf(BootstrapException.class)
                .hasMessageContaining("no launcher recognised")
                .hasMessageContaining("RANK_TABLE_FILE is set")
                .hasMessageContaining("jccl-ranktable");
    }

    @Test
    void aBatchScriptOfSlurmIsToldOfSrun() {
        assertThatThrownBy(() -> read(Map.of("SLURM_JOB_ID", "7", "SLURM_PROCID", "0")))
                .isInstanceOf(BootstrapException.class)
                .hasMessageEndingWith(
                        "This process is in a Slurm job, but no task of srun: start it by srun");
    }

    /** Of launchers that tell ranks by themselves, on hosts where the variable is always set. */
    @Test
    void aRankTableThatNobodyAsksIsNothing() {
        assertThat(read(with(TORCHRUN, "RANK_TABLE_FILE", "/hccl.json")).rank()).isEqualTo(5);
    }

    @Test
    void plainVariablesComeLast() {
        Map<String, String> plain =
                Map.of("RANK", "0", "WORLD_SIZE", "1", "MASTER_ADDR", "h", "MASTER_PORT", "7");
        Membership place = read(plain);
        assertThat(place.localRank()).isEqualTo(-1);
        assertThat(place.storeIsHosted()).isFalse();
        assertThat(place.masterPort()).contains(7);
        assertThatThrownBy(() -> read(Map.of("MASTER_ADDR", "h")))
                .hasMessageContaining("RANK is not set")
                .hasMessageContaining("MASTER_ADDR=h");
    }

    @Test
    void nothingSetIsExplained() {
        assertThatThrownBy(() -> read(Map.of("HOME", "/")))
                .isInstanceOf(BootstrapException.class)
                .hasMessageContaining("RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT")
                .hasMessageContaining("jccl run --nproc-per-node")
                .hasMessageContaining("Slurm");
    }

    @Test
    void anEnvironmentThatIsNullIsRefused() {
        assertThatThrownBy(() -> ClusterEnvironment.readFirst(null))
                .isInstanceOf(UsageException.class);
        for (ClusterEnvironment launcher : ClusterEnvironment.known()) {
            assertThatThrownBy(() -> launcher.detect(null)).isInstanceOf(UsageException.class);
            assertThatThrownBy(() -> launcher.read(null)).isInstanceOf(UsageException.class);
        }
    }

    @Test
    void aWorldThatNoStoreCouldHoldIsRefused() {
        Map<String, String> environment =
                Map.of(
                        "RANK", "0",
                        "WORLD_SIZE", Integer.toString(Integer.MAX_VALUE),
                        "MASTER_ADDR", "h",
                        "MASTER_PORT", "1");
        assertThatThrownBy(() -> ClusterEnvironment.readFirst(environment))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("131072");
    }
}
