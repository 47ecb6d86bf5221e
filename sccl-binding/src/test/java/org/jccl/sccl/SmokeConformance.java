package org.jccl.sccl;

import org.jccl.conformance.SmokeSuite;

/**
 * The conformance suite on real TPUs, as one rank of a job. Without the families that have an
 * operation fail: SCCL cannot end it, so the rank's only device would be stuck ever after. On the
 * mocks they run too, where each case has devices of its own.
 */
final class SmokeConformance {

    private SmokeConformance() {}

    /**
     * Runs it.
     *
     * @param arguments none: each rank has a device of its own
     */
    public static void main(String[] arguments) {
        SmokeSuite.run(new ScclBackend(ScclOptions.fromEnvironment()), "failures", "mismatches");
    }
}
