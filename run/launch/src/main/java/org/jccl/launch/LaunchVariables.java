package org.jccl.launch;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import org.jccl.internal.rendezvous.RankVariables;
import org.jccl.internal.rendezvous.StoreUrl;

/** The environment variables of a rank: those of torchrun, and JCCL's own. */
final class LaunchVariables {

    private static final String THREADS = "OMP_NUM_THREADS";

    /**
     * The signal by which a JVM suspends threads. Its default, SIGUSR2, crashes the JVM if another
     * process sends it, as Grid Engine does. The script of {@code jccl run} has the same number.
     */
    private static final String SUSPENDING = "_JAVA_SR_SIGNUM";

    private static final String UNUSED_SIGNAL = "16";

    private static final String ERRORS = "TORCH_NCCL_ASYNC_ERROR_HANDLING";

    private LaunchVariables() {}

    /**
     * Returns the variables of one rank.
     *
     * @param settings the job
     * @param round the start of the ranks
     * @param placement the rank
     * @param logs the rank's folder, if there are log files
     * @return the variables
     */
    static Map<String, String> of(
            LaunchSettings settings,
            LaunchRound round,
            RankPlacement placement,
            Optional<Path> logs) {
        Map<String, String> variables = new LinkedHashMap<>();
        variables.put(RankVariables.JCCL_RUN_ID, settings.runId());
        variables.put(RankVariables.RANK, Integer.toString(placement.rank()));
        int worldSize = settings.ranksPerNode() * round.nodes();
        variables.put(RankVariables.WORLD_SIZE, Integer.toString(worldSize));
        variables.put(RankVariables.LOCAL_RANK, Integer.toString(placement.localRank()));
        variables.put(RankVariables.LOCAL_WORLD_SIZE, Integer.toString(settings.ranksPerNode()));
        variables.put("GROUP_RANK", Integer.toString(round.nodeRank()));
        variables.put("GROUP_WORLD_SIZE", Integer.toString(round.nodes()));
        variables.put("ROLE_NAME", placement.role().name());
        variables.put("ROLE_RANK", Integer.toString(placement.roleRank()));
        variables.put("ROLE_WORLD_SIZE", Integer.toString(placement.roleWorldSize()));
        variables.put(RankVariables.MASTER_ADDR, round.masterAddress());
        variables.put(RankVariables.MASTER_PORT, Integer.toString(round.masterPort()));
        // An empty value means none and replaces the value of an outer launcher.
        variables.put(RankVariables.STORE, settings.service().map(StoreUrl::text).orElse(""));
        variables.put(RankVariables.TORCHELASTIC_RUN_ID, settings.runId());
        variables.put(RankVariables.RESTART_COUNT, Integer.toString(round.attempt()));
        variables.put("TORCHELASTIC_MAX_RESTARTS", Integer.toString(settings.maxRestarts()));
        variables.put(RankVariables.USE_AGENT_STORE, "True");
        // An empty value means none. If it were unset, ranks would write to the file of an outer
        // launcher.
        Optional<Path> errorFile = logs.map(folder -> folder.resolve("error.json"));
        variables.put(
                RankVariables.ERROR_FILE,
                errorFile.map(file -> file.toAbsolutePath().toString()).orElse(""));
        if (!chosen(SUSPENDING, settings)) {
            variables.put(SUSPENDING, UNUSED_SIGNAL);
        }
        if (!chosen(ERRORS, settings)) {
            variables.put(ERRORS, "1");
        }
        // As in torchrun: several ranks on a host, each with a thread for every core, would
        // compete.
        if (settings.ranksPerNode() > 1 && !chosen(THREADS, settings)) {
            variables.put(THREADS, "1");
        }
        return variables;
    }

    private static boolean chosen(String variable, LaunchSettings settings) {
        return System.getenv(variable) != null || settings.environment().containsKey(variable);
    }
}
