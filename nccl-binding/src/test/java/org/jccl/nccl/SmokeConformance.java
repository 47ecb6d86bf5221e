package org.jccl.nccl;

import org.jccl.conformance.SmokeSuite;

/** The conformance suite on real GPUs, as one rank of a job. */
final class SmokeConformance {

    private SmokeConformance() {}

    /**
     * Runs it.
     *
     * @param arguments {@code shared} when all ranks use the first device, else each has its own
     */
    public static void main(String[] arguments) {
        boolean shared = arguments.length > 0 && arguments[0].equals("shared");
        SmokeSuite.run(new NcclBackend(NcclOptions.defaults(), rank -> shared ? 0 : rank));
    }
}
