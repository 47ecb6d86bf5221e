package org.jccl.nccl;

import java.util.List;
import java.util.function.IntUnaryOperator;
import org.jccl.conformance.SmokeSuite;
import org.jccl.conformance.StagedBackend;
import org.jccl.gloo.GlooOptions;

/** The conformance suite on real GPUs, as one rank of a job. */
final class SmokeConformance {

    private SmokeConformance() {}

    /**
     * Runs it.
     *
     * @param arguments {@code shared} when all ranks use the first device, else each has its own;
     *     then {@code gloo} if Gloo is to work on the devices' tensors
     */
    public static void main(String[] arguments) {
        List<String> options = List.of(arguments);
        boolean shared = options.contains("shared");
        IntUnaryOperator deviceOfRank = rank -> shared ? 0 : rank;
        SmokeSuite.run(
                options.contains("gloo")
                        ? new StagedBackend(
                                "gloo",
                                NcclProvider.DEVICE_TYPE,
                                GlooOptions.onHost("127.0.0.1"),
                                deviceOfRank)
                        : new NcclBackend(NcclOptions.defaults(), deviceOfRank));
    }
}
