package org.jccl.hccl;

import org.jccl.conformance.SmokeSuite;

/** The conformance suite on real NPUs, as one rank of a job. */
final class SmokeConformance {

    private SmokeConformance() {}

    /**
     * Runs it.
     *
     * @param arguments none: each rank has a device of its own
     */
    public static void main(String[] arguments) {
        SmokeSuite.run(new HcclBackend(HcclOptions.defaults()));
    }
}
