package org.jccl.hccl;

import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import org.jccl.DataType;
import org.jccl.ReduceOp;
import org.jccl.ranktable.AscendChip;

/**
 * Generations of Ascend devices, which differ in the functions of HCCL. The library is the same for
 * all and exports every function. A function that a device lacks must not be called there.
 */
enum Chip {
    /** Ascend 950 (A5), and 960, for which HCCL does the same. */
    ASCEND_950(
            "Ascend9[56]0.*|Ascend910_9[56].*",
            Set.of(
                    DataType.INT8,
                    DataType.INT16,
                    DataType.INT32,
                    DataType.INT64,
                    DataType.FLOAT16,
                    DataType.BFLOAT16,
                    DataType.FLOAT32,
                    DataType.FLOAT64),
            Set.of(DataType.INT16, DataType.BFLOAT16),
            Set.of()),
    /** Atlas A3. */
    ASCEND_910_93(
            "Ascend910_93.*|Ascend910C.*",
            Sets.TRAINING,
            Set.of(DataType.INT16, DataType.BFLOAT16),
            Set.of()),
    /** Atlas A2. The name without a digit is the first generation. */
    ASCEND_910B(
            "Ascend910B[0-9].*",
            Sets.TRAINING,
            Set.of(DataType.INT16, DataType.BFLOAT16),
            Set.of()),
    /** The first generation of Atlas for training. */
    ASCEND_910(
            "Ascend910(A|B|ProA|ProB|PremiumA)?",
            Set.of(
                    DataType.INT8,
                    DataType.INT32,
                    DataType.INT64,
                    DataType.FLOAT16,
                    DataType.FLOAT32),
            Set.of(),
            Set.of("HcclAllGatherV", "HcclAlltoAllVC", "HcclReduceScatterV")),
    /** Any other device. The common functions are allowed; HCCL rejects those that it lacks. */
    OTHER(".*", Sets.TRAINING, Set.of(DataType.INT16, DataType.BFLOAT16), Set.of());

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

    private final Pattern names;
    private final Set<DataType> summed;
    private final Set<DataType> notMultiplied;
    private final Set<String> lacking;

    Chip(String names, Set<DataType> summed, Set<DataType> notMultiplied, Set<String> lacking) {
        this.names = Pattern.compile(names);
        this.summed = summed;
        this.notMultiplied = notMultiplied;
        this.lacking = lacking;
    }

    /**
     * The generation of a device.
     *
     * @param name the text of {@code aclrtGetSocName}, or an empty text
     */
    static Chip of(String name) {
        for (Chip chip : values()) {
            if (chip.names.matcher(name).matches()) {
                return chip;
            }
        }
        return OTHER;
    }

    /**
     * Returns whether a device is of the 310 series, whose broadcast reports success and does
     * nothing.
     */
    static boolean isForInference(String name) {
        return name.startsWith("Ascend310");
    }

    /** The name in messages. */
    String label() {
        return name().replace("ASCEND_", "Ascend ");
    }

    /** Returns whether HCCL's manual lists this device for a function. */
    boolean has(String function) {
        return !lacking.contains(function);
    }

    /** The chip by whose rules HCCL reads rank tables; empty if they are not known. */
    Optional<AscendChip> family() {
        return switch (this) {
            case ASCEND_950 -> Optional.of(AscendChip.ASCEND_950);
            case ASCEND_910_93 -> Optional.of(AscendChip.ATLAS_A3);
            case ASCEND_910B -> Optional.of(AscendChip.ATLAS_A2);
            case ASCEND_910 -> Optional.of(AscendChip.ASCEND_910);
            case OTHER -> Optional.empty();
        };
    }

    /** Returns whether HCCL has the strict order of additions here. */
    boolean isStrict() {
        return this == ASCEND_910B || this == OTHER;
    }

    /** Returns whether HCCL supports bfloat16 here; if not, it moves as int16. */
    boolean movesBfloat16() {
        return this != ASCEND_910;
    }

    /** Returns whether HCCL itself reduces a type with one of its four operations. */
    boolean reduces(ReduceOp.Kind kind, DataType type) {
        if (!summed.contains(type)) {
            return false;
        }
        return switch (kind) {
            case SUM, MIN, MAX -> true;
            case PRODUCT -> !notMultiplied.contains(type);
            case AVG, BAND, BOR, BXOR, PREMUL_SUM -> false;
        };
    }

    /** Returns whether gathers of parts of different sizes work for any placement of the ranks. */
    boolean gathersParts() {
        return this == ASCEND_950;
    }

    /** Returns whether HCCL reduces to parts of different sizes for any placement of the ranks. */
    boolean reducesToParts(ReduceOp.Kind kind, DataType type) {
        return this == ASCEND_950
                && kind != ReduceOp.Kind.PRODUCT
                && type != DataType.FLOAT64
                && reduces(kind, type);
    }
}
