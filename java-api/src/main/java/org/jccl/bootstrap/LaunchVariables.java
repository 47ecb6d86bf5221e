package org.jccl.bootstrap;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The variables that {@link ProcessLauncher} gives to a rank: torchrun's, and a run id of our own.
 */
final class LaunchVariables {

    /** Set by {@code jccl run} and {@link ProcessLauncher} only: the id of the run. */
    static final String JCCL_RUN_ID = "JCCL_RUN_ID";

    static final String RANK = "RANK";
    static final String WORLD_SIZE = "WORLD_SIZE";
    static final String LOCAL_RANK = "LOCAL_RANK";
    static final String LOCAL_WORLD_SIZE = "LOCAL_WORLD_SIZE";
    static final String MASTER_ADDR = "MASTER_ADDR";
    static final String MASTER_PORT = "MASTER_PORT";
    static final String TORCHELASTIC_RUN_ID = "TORCHELASTIC_RUN_ID";
    static final String USE_AGENT_STORE = "TORCHELASTIC_USE_AGENT_STORE";

    private static final String THREADS = "OMP_NUM_THREADS";

    private LaunchVariables() {}

    /**
     * The variables of one rank.
     *
     * @param settings the job
     * @param localRank rank on this node
     * @param attempt how often the job was restarted
     * @param masterPort port of the store
     * @return the variables
     */
    static Map<String, String> of(
            LaunchSettings settings, int localRank, int attempt, int masterPort) {
        Map<String, String> variables = new LinkedHashMap<>();
        String rank = Integer.toString(settings.firstRank() + localRank);
        String worldSize = Integer.toString(settings.worldSize());
        variables.put(JCCL_RUN_ID, settings.runId());
        variables.put(RANK, rank);
        variables.put(WORLD_SIZE, worldSize);
        variables.put(LOCAL_RANK, Integer.toString(localRank));
        variables.put(LOCAL_WORLD_SIZE, Integer.toString(settings.ranksPerNode()));
        variables.put("GROUP_RANK", Integer.toString(settings.nodeRank()));
        variables.put("GROUP_WORLD_SIZE", Integer.toString(settings.nodes()));
        variables.put("ROLE_NAME", "default");
        variables.put("ROLE_RANK", rank);
        variables.put("ROLE_WORLD_SIZE", worldSize);
        variables.put(MASTER_ADDR, settings.masterAddress());
        variables.put(MASTER_PORT, Integer.toString(masterPort));
        variables.put(TORCHELASTIC_RUN_ID, settings.runId());
        variables.put("TORCHELASTIC_RESTART_COUNT", Integer.toString(attempt));
        variables.put("TORCHELASTIC_MAX_RESTARTS", Integer.toString(settings.maxRestarts()));
        variables.put(USE_AGENT_STORE, "True");
        // As torchrun does: several ranks a host, each with a thread a core, would only compete.
        boolean chosen =
                System.getenv(THREADS) != null || settings.environment().containsKey(THREADS);
        if (settings.ranksPerNode() > 1 && !chosen) {
            variables.put(THREADS, "1");
        }
        return variables;
    }
}
