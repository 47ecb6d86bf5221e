package org.jccl.bootstrap;

import java.util.Map;
import org.jccl.internal.rendezvous.RankVariables;

/** {@code jccl run} and {@code ProcessLauncher}: torchrun's variables and a run id. */
final class JcclRunEnvironment implements ClusterEnvironment {

    @Override
    public String name() {
        return "jccl run";
    }

    @Override
    public boolean detect(Map<String, String> environment) {
        return RankVariables.required(environment).containsKey(RankVariables.JCCL_RUN_ID);
    }

    @Override
    public Membership read(Map<String, String> environment) {
        return TorchrunEnvironment.read(name(), environment);
    }
}
