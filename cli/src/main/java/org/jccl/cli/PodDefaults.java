package org.jccl.cli;

import java.util.Map;
import picocli.CommandLine.IDefaultValueProvider;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.OptionSpec;

/**
 * What a Kubernetes operator says of a pod's place otherwise than by {@code PET_}: torchrun's names
 * for ranks, which there number pods.
 *
 * <ul>
 *   <li>Volcano's plugin for PyTorch: {@code RANK} is the pod, {@code WORLD_SIZE} counts pods
 *   <li>Ascend's operator: {@code WORLD_SIZE} counts the devices of all pods, {@code
 *       LOCAL_WORLD_SIZE} those of this one, which {@code LOCAL_RANK} lists
 *   <li>a PyTorchJob has {@code PET_}, but the store's place as {@code MASTER_ADDR}
 * </ul>
 *
 * A rank that another launcher has started is none of these.
 */
final class PodDefaults implements IDefaultValueProvider {

    private final Map<String, String> environment;

    /** Of this process. */
    PodDefaults() {
        this(System.getenv());
    }

    PodDefaults(Map<String, String> environment) {
        this.environment = environment;
    }

    @Override
    public String defaultValue(ArgSpec argument) {
        if (!(argument instanceof OptionSpec option) || !isPod()) {
            return null;
        }
        return switch (option.longestName()) {
            case "--nproc-per-node", "--nproc_per_node" ->
                    unlessSaid("PET_NPROC_PER_NODE", isAscend() ? ranksPerPod() : null);
            case "--nnodes" -> unlessSaid("PET_NNODES", pods());
            case "--node-rank", "--node_rank" ->
                    unlessSaid("PET_NODE_RANK", environment.get("RANK"));
            case "--master-addr", "--master_addr" ->
                    unlessSaid("PET_MASTER_ADDR", environment.get("MASTER_ADDR"));
            case "--master-port", "--master_port" ->
                    unlessSaid("PET_MASTER_PORT", environment.get("MASTER_PORT"));
            default -> null;
        };
    }

    /** Null leaves it to the variable. */
    private String unlessSaid(String variable, String value) {
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
            // What follows says so as well.
        }
        return "WORLD_SIZE=" + worldSize + " / LOCAL_WORLD_SIZE=" + ranksPerPod();
    }
}
