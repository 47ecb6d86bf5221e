package org.jccl.ranktable;

/** Generations of Ascend devices, whose HCCL takes different tables. */
public enum AscendChip {
    /** The first generation of Atlas for training. */
    ASCEND_910("Ascend 910"),
    /** Atlas A2, Ascend 910B. */
    ATLAS_A2("Atlas A2"),
    /** Atlas A3, Ascend 910_93. */
    ATLAS_A3("Atlas A3"),
    /** Ascend 950, which takes HCCL 2.0 only. */
    ASCEND_950("Ascend 950");

    private final String label;

    AscendChip(String label) {
        this.label = label;
    }

    /** Name for people, for instance {@code Atlas A2}. */
    @Override
    public String toString() {
        return label;
    }
}
