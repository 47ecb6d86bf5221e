package org.jccl;

import java.util.Locale;

/**
 * How a reduction combines the ranks' elements.
 *
 * <p>Floating point results depend on the order in which a library adds; all ranks of one call get
 * the same bits.
 *
 * @param kind the operation
 * @param factor what each input is multiplied with before it is summed; 1 unless {@code kind} is
 *     {@link Kind#PREMUL_SUM}
 */
public record ReduceOp(Kind kind, double factor) {

    /** The operations, in the order of PyTorch's ReduceOp. */
    public enum Kind {
        /** Sum. */
        SUM,
        /** Sum divided by the world size; floating point types only. */
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
     * @param factor 1 for all but PREMUL_SUM
     * @throws UsageException when {@code kind} is null, or {@code factor} is not 1 for an operation
     *     that takes none
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
     * Sum of the inputs, each multiplied by a factor first.
     *
     * @param factor the same on every rank
     * @return the reduce op
     */
    public static ReduceOp premulSum(double factor) {
        return new ReduceOp(Kind.PREMUL_SUM, factor);
    }

    /**
     * Whether the operation is defined for a type, whatever the backend.
     *
     * @param type the element type
     * @return false for bitwise operations on floating point types and for AVG and PREMUL_SUM on
     *     integers and bool
     * @throws UsageException when the type is null
     */
    public boolean supports(DataType type) {
        Given.notNull(type, "type");
        return switch (kind) {
            case SUM, PRODUCT, MIN, MAX -> true;
            case AVG, PREMUL_SUM -> type.isFloatingPoint() || type.isFloat8();
            case BAND, BOR, BXOR -> type.isInteger() || type == DataType.BOOL;
        };
    }

    /**
     * Finds an operation without factor by name in any case; {@code prod} is known too.
     *
     * @param name the name
     * @return the reduce op
     * @throws UsageException when it is null, or there is none, with the list of names
     */
    public static ReduceOp parse(String name) {
        return switch (Given.notNull(name, "reduce op").toUpperCase(Locale.ROOT)) {
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
