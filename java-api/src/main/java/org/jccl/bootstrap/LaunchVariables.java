package org.jccl.bootstrap;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import org.jccl.FailureContext;
import org.jccl.UsageException;

/**
 * The variables that {@link ProcessLauncher} gives to a rank: torchrun's, and a run id of our own.
 */
final class LaunchVariables {

    /** Set by {@code jccl run} and {@link ProcessLauncher} only: the id of the run. */
    static final String JCCL_RUN_ID = "JCCL_RUN_ID";

    /** How often the ranks were started before; more than failures where nodes come and go. */
    static final String ATTEMPT = "JCCL_ATTEMPT";

    static final String RANK = "RANK";
    static final String WORLD_SIZE = "WORLD_SIZE";
    static final String LOCAL_RANK = "LOCAL_RANK";
    static final String LOCAL_WORLD_SIZE = "LOCAL_WORLD_SIZE";
    static final String MASTER_ADDR = "MASTER_ADDR";
    static final String MASTER_PORT = "MASTER_PORT";
    static final String TORCHELASTIC_RUN_ID = "TORCHELASTIC_RUN_ID";
    static final String RESTART_COUNT = "TORCHELASTIC_RESTART_COUNT";
    static final String USE_AGENT_STORE = "TORCHELASTIC_USE_AGENT_STORE";

    private static final String THREADS = "OMP_NUM_THREADS";
    private static final String ERRORS = "TORCH_NCCL_ASYNC_ERROR_HANDLING";

    private LaunchVariables() {}

    /**
     * The variables of one rank.
     *
     * @param settings the job
     * @param round which start of it
     * @param place which of the ranks
     * @param logs the rank's folder, if logs are kept
     * @return the variables
     */
    static Map<String, String> of(
            LaunchSettings settings, LaunchRound round, LaunchPlace place, Optional<Path> logs) {
        Map<String, String> variables = new LinkedHashMap<>();
        variables.put(JCCL_RUN_ID, settings.runId());
        variables.put(RANK, Integer.toString(place.rank()));
        int worldSize = settings.ranksPerNode() * round.nodes();
        variables.put(WORLD_SIZE, Integer.toString(worldSize));
        variables.put(LOCAL_RANK, Integer.toString(place.localRank()));
        variables.put(LOCAL_WORLD_SIZE, Integer.toString(settings.ranksPerNode()));
        variables.put("GROUP_RANK", Integer.toString(round.nodeRank()));
        variables.put("GROUP_WORLD_SIZE", Integer.toString(round.nodes()));
        variables.put("ROLE_NAME", place.role().name());
        variables.put("ROLE_RANK", Integer.toString(place.roleRank()));
        variables.put("ROLE_WORLD_SIZE", Integer.toString(place.roleWorldSize()));
        variables.put(MASTER_ADDR, round.masterAddress());
        variables.put(MASTER_PORT, Integer.toString(round.masterPort()));
        variables.put(TORCHELASTIC_RUN_ID, settings.runId());
        variables.put(RESTART_COUNT, Integer.toString(round.restarts()));
        variables.put(ATTEMPT, Integer.toString(round.attempt()));
        variables.put("TORCHELASTIC_MAX_RESTARTS", Integer.toString(settings.maxRestarts()));
        variables.put(USE_AGENT_STORE, "True");
        // Empty is none; without it, ranks would write to that of a launcher above this one.
        Optional<Path> errorFile = logs.map(folder -> folder.resolve("error.json"));
        variables.put(
                ErrorFile.VARIABLE,
                errorFile.map(file -> file.toAbsolutePath().toString()).orElse(""));
        if (!chosen(ERRORS, settings)) {
            variables.put(ERRORS, "1");
        }
        // As torchrun does: several ranks a host, each with a thread a core, would only compete.
        if (settings.ranksPerNode() > 1 && !chosen(THREADS, settings)) {
            variables.put(THREADS, "1");
        }
        return variables;
    }

    /** The environment that a caller passed. */
    static Map<String, String> given(Map<String, String> environment) {
        if (environment == null) {
            throw new UsageException(
                    FailureContext.NONE, "environment is null; pass System.getenv()");
        }
        return environment;
    }

    private static boolean chosen(String variable, LaunchSettings settings) {
        return System.getenv(variable) != null || settings.environment().containsKey(variable);
    }
}
