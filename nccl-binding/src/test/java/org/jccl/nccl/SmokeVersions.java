package org.jccl.nccl;

import org.jccl.Availability;

/** Prints what the binding found, for the report of the hardware smoke test. */
final class SmokeVersions {

    private SmokeVersions() {}

    /**
     * Prints; fails when the backend can not be used.
     *
     * @param arguments none
     */
    public static void main(String[] arguments) {
        Availability found = new NcclProvider().availability();
        System.out.println(found);
        if (!(found instanceof Availability.Available)) {
            throw new IllegalStateException("NCCL can not be used here");
        }
    }
}
