package org.jccl.internal.rendezvous;

import java.util.Map;
import org.jccl.internal.checks.Require;

/** The variables that define the rank of a process in a job: torchrun's, and a run id of JCCL. */
public final class RankVariables {

    /** The id of the run. Only {@code jccl run} and {@code ProcessLauncher} set it. */
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

    /** The URL of the store, if the launchers use that of a service. */
    public static final String STORE = "JCCL_STORE";

    /** torchrun's name for the id of the run. */
    public static final String TORCHELASTIC_RUN_ID = "TORCHELASTIC_RUN_ID";

    /** How often the launcher has restarted the ranks. */
    public static final String RESTART_COUNT = "TORCHELASTIC_RESTART_COUNT";

    /** {@code True} if the launcher serves the store. */
    public static final String USE_AGENT_STORE = "TORCHELASTIC_USE_AGENT_STORE";

    /** The file for the reason of a failure. */
    public static final String ERROR_FILE = "TORCHELASTIC_ERROR_FILE";

    private RankVariables() {}

    /**
     * Returns the environment that a caller passed.
     *
     * @throws org.jccl.UsageException if it is null
     */
    public static Map<String, String> required(Map<String, String> environment) {
        return Require.nonNull(environment, "environment, usually System.getenv(),");
    }
}
