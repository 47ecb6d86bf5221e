package org.jccl.hccl;

import java.util.List;
import java.util.Set;
import org.jccl.DataType;
import org.jccl.ReduceOp;

/** Generations of Ascend devices, which differ in what HCCL reduces on them. */
enum Chip {
    /** Ascend 950 (A5). */
    ASCEND_950(
            List.of("Ascend950", "Ascend910_95"),
            Set.of(
                    DataType.INT8,
                    DataType.INT16,
                    DataType.INT32,
                    DataType.INT64,
                    DataType.FLOAT16,
                    DataType.BFLOAT16,
                    DataType.FLOAT32,
                    DataType.FLOAT64),
            Set.of(DataType.INT16, DataType.BFLOAT16)),
    /** Atlas A3. */
    ASCEND_910_93(
            List.of("Ascend910_93"), Sets.TRAINING, Set.of(DataType.INT16, DataType.BFLOAT16)),
    /** Atlas A2. */
    ASCEND_910B(List.of("Ascend910B"), Sets.TRAINING, Set.of(DataType.INT16, DataType.BFLOAT16)),
    /** The first Atlas for training. */
    ASCEND_910(
            List.of("Ascend910"),
            Set.of(
                    DataType.INT8,
                    DataType.INT32,
                    DataType.INT64,
                    DataType.FLOAT16,
                    DataType.FLOAT32),
            Set.of()),
    /** Atlas 300I Duo. */
    ASCEND_310P(
            List.of("Ascend310P"),
            Set.of(
                    DataType.INT8,
                    DataType.INT16,
                    DataType.INT32,
                    DataType.FLOAT16,
                    DataType.FLOAT32),
            Set.of(DataType.INT16)),
    /** Any other: what most have is allowed, and HCCL refuses what this one lacks. */
    OTHER(List.of(""), Sets.TRAINING, Set.of(DataType.INT16, DataType.BFLOAT16));

    private static final class Sets {
        static final Set<DataType> TRAINING =
                Set.of(
                        DataType.INT8,
                        DataType.INT16,
                        DataType.INT32,
                        DataType.INT64,
                        DataType.FLOAT16,
                        DataType.BFLOAT16,
                        DataType.FLOAT32);
    }

    private final List<String> names;
    private final Set<DataType> summed;
    private final Set<DataType> notMultiplied;

    Chip(List<String> names, Set<DataType> summed, Set<DataType> notMultiplied) {
        this.names = names;
        this.summed = summed;
        this.notMultiplied = notMultiplied;
    }

    /**
     * The generation of a device.
     *
     * @param name what {@code aclrtGetSocName} says, or an empty text
     */
    static Chip of(String name) {
        for (Chip chip : values()) {
            if (chip.names.stream().anyMatch(name::startsWith)) {
                return chip;
            }
        }
        return OTHER;
    }

    /** Whether HCCL itself reduces a type with one of its four operations. */
    boolean reduces(ReduceOp.Kind kind, DataType type) {
        if (!summed.contains(type)) {
            return false;
        }
        return switch (kind) {
            case SUM -> true;
            case PRODUCT -> !notMultiplied.contains(type);
            case MIN, MAX -> !(this == ASCEND_310P && type == DataType.INT16);
            case AVG, BAND, BOR, BXOR, PREMUL_SUM -> false;
        };
    }

    /** Whether HCCL reduces to one rank; the others reduce to all. */
    boolean reducesToRoot() {
        return this != ASCEND_310P;
    }

    /** Whether gathers of parts of different sizes work for any placement of the ranks. */
    boolean gathersParts() {
        return this == ASCEND_950;
    }

    /** Whether HCCL reduces to parts of different sizes for any placement of the ranks. */
    boolean reducesToParts(ReduceOp.Kind kind, DataType type) {
        return this == ASCEND_950
                && kind != ReduceOp.Kind.PRODUCT
                && type != DataType.FLOAT64
                && reduces(kind, type);
    }
}
