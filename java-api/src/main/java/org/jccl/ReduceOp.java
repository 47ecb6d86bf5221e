package org.jccl;

import java.util.Locale;

/**
 * How a reduction combines the elements of the ranks.
 *
 * <p>Floating point results depend on the order in which a library adds. All ranks of one call get
 * the same bits.
 *
 * @param kind the operation
 * @param factor multiplied with each input before the sum; 1 unless {@code kind} is {@link
 *     Kind#PREMUL_SUM}
 */
public record ReduceOp(Kind kind, double factor) {

    /** The operations, in the order of PyTorch's ReduceOp. */
    public enum Kind {
        /** Sum. */
        SUM,
        /**
         * Sum divided by the world size; floating point types only. Instead, the library may
         * multiply each input by a rounded reciprocal before it adds.
         */
        AVG,
        /** Product. */
        PRODUCT,
        /** Smallest. */
        MIN,
        /** Largest. */
        MAX,
        /** Bitwise and; integer types and bool only. */
        BAND,
        /** Bitwise or; integer types and bool only. */
        BOR,
        /** Bitwise exclusive or; integer types and bool only. */
        BXOR,
        /** Sum of the inputs multiplied by a factor; floating point types only. */
        PREMUL_SUM
    }

    /** Sum. */
    public static final ReduceOp SUM = new ReduceOp(Kind.SUM, 1);

    /** Sum divided by the world size; floating point types only. */
    public static final ReduceOp AVG = new ReduceOp(Kind.AVG, 1);

    /** Product. */
    public static final ReduceOp PRODUCT = new ReduceOp(Kind.PRODUCT, 1);

    /** Smallest. */
    public static final ReduceOp MIN = new ReduceOp(Kind.MIN, 1);

    /** Largest. */
    public static final ReduceOp MAX = new ReduceOp(Kind.MAX, 1);

    /** Bitwise and; integer types and bool only. */
    public static final ReduceOp BAND = new ReduceOp(Kind.BAND, 1);

    /** Bitwise or; integer types and bool only. */
    public static final ReduceOp BOR = new ReduceOp(Kind.BOR, 1);

    /** Bitwise exclusive or; integer types and bool only. */
    public static final ReduceOp BXOR = new ReduceOp(Kind.BXOR, 1);

    /**
     * Checks the arguments.
     *
     * @param kind the operation
     * @param factor 1 for all operations except PREMUL_SUM
     * @throws UsageException if {@code kind} is null, or {@code factor} is not 1 for an operation
     *     without factor
     */
    public ReduceOp {
        if (kind == null) {
            throw new UsageException(FailureContext.NONE, "reduce op: kind is null");
        }
        if (kind != Kind.PREMUL_SUM && factor != 1) {
            throw new UsageException(
                    FailureContext.NONE,
                    "reduce op %s takes no factor; use ReduceOp.premulSum(%s)"
                            .formatted(kind, factor));
        }
    }

    /**
     * Returns the sum of the inputs, each multiplied by a factor first.
     *
     * @param factor the same on every rank
     * @return the reduce op
     */
    public static ReduceOp premulSum(double factor) {
        return new ReduceOp(Kind.PREMUL_SUM, factor);
    }

    /**
     * Returns whether the operation is defined for a type, independently of the backend.
     *
     * @param type element type
     * @return false for bitwise operations on floating point types and for AVG and PREMUL_SUM on
     *     integers and bool
     * @throws UsageException if the type is null
     */
    public boolean supports(DataType type) {
        UsageException.nonNull(type, "type");
        return switch (kind) {
            case SUM, PRODUCT, MIN, MAX -> true;
            case AVG, PREMUL_SUM -> type.isFloatingPoint() || type.isFloat8();
            case BAND, BOR, BXOR -> type.isInteger() || type == DataType.BOOL;
        };
    }

    /**
     * Finds an operation without factor by name. Case is ignored, and {@code prod} is an alias.
     *
     * @param name the name
     * @return the reduce op
     * @throws UsageException if it is null or unknown; the message lists the names
     */
    public static ReduceOp parse(String name) {
        return switch (UsageException.nonNull(name, "reduce op").toUpperCase(Locale.ROOT)) {
            case "SUM" -> SUM;
            case "AVG" -> AVG;
            case "PRODUCT", "PROD" -> PRODUCT;
            case "MIN" -> MIN;
            case "MAX" -> MAX;
            case "BAND" -> BAND;
            case "BOR" -> BOR;
            case "BXOR" -> BXOR;
            default ->
                    throw new UsageException(
                            FailureContext.NONE,
                            "unknown reduce op '%s'; known: SUM AVG PRODUCT MIN MAX BAND BOR BXOR"
                                    .formatted(name));
        };
    }

    @Override
    public String toString() {
        return kind == Kind.PREMUL_SUM ? "PREMUL_SUM(" + factor + ")" : kind.name();
    }
}
