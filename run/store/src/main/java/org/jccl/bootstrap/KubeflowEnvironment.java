package org.jccl.bootstrap;

import java.util.Map;
import java.util.Optional;
import org.jccl.internal.rendezvous.RankVariables;

/**
 * Kubeflow, and operators with the same variables. Trainer v2 sets {@code PET_NNODES}, {@code
 * PET_NODE_RANK} and {@code PET_NPROC_PER_NODE}. A PyTorchJob v1 also sets {@code RANK} and {@code
 * WORLD_SIZE}; Volcano's plugin for PyTorch sets only these two. All of them number pods, so
 * without {@code jccl run} in the pod there is one rank in each pod.
 */
final class KubeflowEnvironment implements ClusterEnvironment {

    private static final int DEFAULT_PORT = 29500;

    @Override
    public String name() {
        return "Kubeflow";
    }

    @Override
    public boolean detect(Map<String, String> environment) {
        return isTrainer(RankVariables.required(environment))
                || (environment.containsKey("KUBERNETES_SERVICE_HOST")
                        && environment.containsKey(RankVariables.RANK)
                        && !environment.containsKey(RankVariables.LOCAL_RANK));
    }

    private static boolean isTrainer(Map<String, String> environment) {
        return environment.containsKey("PET_NODE_RANK") || environment.containsKey("PET_NNODES");
    }

    @Override
    public Membership read(Map<String, String> environment) {
        MembershipReader reader = new MembershipReader(name(), environment);
        return isTrainer(environment) ? readTrainer(reader) : readPyTorchJob(reader);
    }

    private static Membership readPyTorchJob(MembershipReader reader) {
        int rank = reader.required(0, "index of this pod", RankVariables.RANK);
        int worldSize = reader.required(1, "number of pods", RankVariables.WORLD_SIZE);
        return reader.local(0, 1).requiredMaster().membership(rank, worldSize);
    }

    private static Membership readTrainer(MembershipReader reader) {
        int node = reader.required(0, "index of this pod", "PET_NODE_RANK");
        int nodes = reader.required(1, "number of pods", "PET_NNODES");
        String perNode = reader.text("PET_NPROC_PER_NODE").orElse("1");
        // A PyTorchJob without a setting has "auto", and a world size equal to the number of pods.
        boolean onePerPod =
                perNode.equals("auto") && nodes == reader.optional(1, RankVariables.WORLD_SIZE);
        if (!perNode.equals("1") && !onePerPod) {
            reader.problem(
                    "PET_NPROC_PER_NODE=%s asks for several ranks per pod, but this process is the only one: start it by 'jccl run -- java ...' in each pod, or set PET_NPROC_PER_NODE=1"
                            .formatted(perNode));
        }
        reader.mustAgree(RankVariables.RANK, node, "PET_NODE_RANK");
        reader.mustAgree(RankVariables.WORLD_SIZE, nodes, "PET_NNODES");
        reader.master()
                .masterOrElse(
                        reader.host("PET_MASTER_ADDR"),
                        reader.port("PET_MASTER_PORT").or(() -> Optional.of(DEFAULT_PORT)));
        return reader.local(0, 1).membership(node, nodes);
    }
}
