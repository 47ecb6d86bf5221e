package org.jccl.cli;

import java.util.Map;
import picocli.CommandLine.IDefaultValueProvider;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.OptionSpec;

/**
 * Defaults of {@code jccl run} from the variables of a Kubernetes operator other than {@code PET_}.
 * These have torchrun's names for ranks, but number pods.
 *
 * <ul>
 *   <li>Volcano's plugin for PyTorch: {@code RANK} is the pod, {@code WORLD_SIZE} counts pods
 *   <li>Ascend's operator: {@code WORLD_SIZE} counts the devices of all pods, {@code
 *       LOCAL_WORLD_SIZE} those of this one, which {@code LOCAL_RANK} lists
 *   <li>a PyTorchJob has {@code PET_}, but the address of the store as {@code MASTER_ADDR}
 * </ul>
 *
 * In a step of Slurm with one task a node, {@code SLURM_NODEID} is the node.
 *
 * <p>The defaults do not apply in a rank that another launcher has started.
 */
final class PodDefaults implements IDefaultValueProvider {

    private final Map<String, String> environment;

    /** Reads the environment of this process. */
    PodDefaults() {
        this(System.getenv());
    }

    PodDefaults(Map<String, String> environment) {
        this.environment = environment;
    }

    @Override
    public String defaultValue(ArgSpec argument) {
        if (!(argument instanceof OptionSpec option)) {
            return null;
        }
        if (isSlurmStep(environment)) {
            return ofSlurm(option.longestName());
        }
        if (!isPod()) {
            return null;
        }
        return switch (option.longestName()) {
            case "--nproc-per-node", "--nproc_per_node" ->
                    unlessSet("PET_NPROC_PER_NODE", isAscend() ? ranksPerPod() : null);
            case "--nnodes" -> unlessSet("PET_NNODES", pods());
            case "--node-rank", "--node_rank" ->
                    unlessSet("PET_NODE_RANK", environment.get("RANK"));
            case "--master-addr", "--master_addr" ->
                    unlessSet("PET_MASTER_ADDR", environment.get("MASTER_ADDR"));
            case "--master-port", "--master_port" ->
                    unlessSet("PET_MASTER_PORT", environment.get("MASTER_PORT"));
            default -> null;
        };
    }

    private String ofSlurm(String option) {
        return switch (option) {
            case "--nnodes" -> unlessSet("PET_NNODES", environment.get("SLURM_STEP_NUM_NODES"));
            case "--node-rank", "--node_rank" ->
                    unlessSet("PET_NODE_RANK", environment.get("SLURM_NODEID"));
            default -> null;
        };
    }

    /** Returns whether srun started this launcher once on each of several nodes. */
    static boolean isSlurmStep(Map<String, String> environment) {
        String nodes = environment.get("SLURM_STEP_NUM_NODES");
        return nodes != null
                && !nodes.equals("1")
                && nodes.equals(environment.get("SLURM_STEP_NUM_TASKS"))
                && environment.containsKey("SLURM_NODEID")
                && !environment.containsKey("TORCHELASTIC_RUN_ID");
    }

    /** The value, or null if the variable is set. */
    private String unlessSet(String variable, String value) {
        return environment.containsKey(variable) ? null : value;
    }

    private boolean isPod() {
        return environment.containsKey("KUBERNETES_SERVICE_HOST")
                && environment.containsKey("RANK")
                && environment.containsKey("WORLD_SIZE")
                && environment.containsKey("MASTER_ADDR")
                && !environment.containsKey("TORCHELASTIC_RUN_ID")
                && (isAscend() || !environment.containsKey("LOCAL_RANK"));
    }

    private boolean isAscend() {
        return environment.containsKey("MINDX_TASK_ID")
                && environment.containsKey("LOCAL_WORLD_SIZE");
    }

    private String ranksPerPod() {
        return environment.get("LOCAL_WORLD_SIZE");
    }

    private String pods() {
        String worldSize = environment.get("WORLD_SIZE");
        if (!isAscend()) {
            return worldSize;
        }
        try {
            int all = Integer.parseInt(worldSize);
            int ofPod = Integer.parseInt(ranksPerPod());
            if (ofPod > 0 && all % ofPod == 0) {
                return Integer.toString(all / ofPod);
            }
        } catch (NumberFormatException e) {
            // The text below makes the option fail with a message.
        }
        return "WORLD_SIZE=" + worldSize + " / LOCAL_WORLD_SIZE=" + ranksPerPod();
    }
}
