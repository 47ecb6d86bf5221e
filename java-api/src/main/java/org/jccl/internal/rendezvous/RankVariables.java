package org.jccl.internal.rendezvous;

import java.util.Map;
import org.jccl.internal.checks.Require;

/** The variables that tell a rank its place in a job: torchrun's, and a run id of our own. */
public final class RankVariables {

    /** Set by {@code jccl run} and {@code ProcessLauncher} only: the id of the run. */
    public static final String JCCL_RUN_ID = "JCCL_RUN_ID";

    /** Number of the rank in the world, from 0. */
    public static final String RANK = "RANK";

    /** Number of ranks. */
    public static final String WORLD_SIZE = "WORLD_SIZE";

    /** Number of the rank on its host, from 0. */
    public static final String LOCAL_RANK = "LOCAL_RANK";

    /** Number of ranks of the host. */
    public static final String LOCAL_WORLD_SIZE = "LOCAL_WORLD_SIZE";

    /** Host of the store. */
    public static final String MASTER_ADDR = "MASTER_ADDR";

    /** Port of the store. */
    public static final String MASTER_PORT = "MASTER_PORT";

    /** torchrun's name for the id of the run. */
    public static final String TORCHELASTIC_RUN_ID = "TORCHELASTIC_RUN_ID";

    /** How often the launcher has started the ranks again. */
    public static final String RESTART_COUNT = "TORCHELASTIC_RESTART_COUNT";

    /** {@code True} where the launcher serves the store. */
    public static final String USE_AGENT_STORE = "TORCHELASTIC_USE_AGENT_STORE";

    /** The file for the reason of a rank's failure. */
    public static final String ERROR_FILE = "TORCHELASTIC_ERROR_FILE";

    private RankVariables() {}

    /**
     * Checks the environment that a caller passed.
     *
     * @param environment usually {@code System.getenv()}
     * @return the environment
     * @throws org.jccl.UsageException if it is null
     */
    public static Map<String, String> required(Map<String, String> environment) {
        return Require.nonNull(environment, "environment, usually System.getenv(),");
    }
}
