package org.jccl;

import java.util.Locale;

/** Element types. Not every backend reduces every type. All types can be copied between ranks. */
public enum DataType {
    /** Signed 8-bit integer. */
    INT8(1, Kind.INTEGER),
    /** Unsigned 8-bit integer. */
    UINT8(1, Kind.INTEGER),
    /** Signed 16-bit integer. */
    INT16(2, Kind.INTEGER),
    /** Signed 32-bit integer. */
    INT32(4, Kind.INTEGER),
    /** Signed 64-bit integer. */
    INT64(8, Kind.INTEGER),
    /** IEEE 754 half precision. */
    FLOAT16(2, Kind.FLOATING),
    /** The upper half of a float32: 8 exponent bits, 7 fraction bits. */
    BFLOAT16(2, Kind.FLOATING),
    /** IEEE 754 single precision. */
    FLOAT32(4, Kind.FLOATING),
    /** IEEE 754 double precision. */
    FLOAT64(8, Kind.FLOATING),
    /**
     * One byte, 0 or 1. Reductions follow PyTorch: SUM and MAX are "or", PRODUCT and MIN are "and".
     */
    BOOL(1, Kind.BOOLEAN),
    /** 8-bit float with 4 exponent bits. Some accelerators can reduce it. */
    FLOAT8_E4M3(1, Kind.FLOAT8),
    /** 8-bit float with 5 exponent bits. Some accelerators can reduce it. */
    FLOAT8_E5M2(1, Kind.FLOAT8);

    private enum Kind {
        INTEGER,
        FLOATING,
        BOOLEAN,
        FLOAT8
    }

    private final int size;
    private final Kind kind;
    private final String text = name().toLowerCase(Locale.ROOT);

    DataType(int size, Kind kind) {
        this.size = size;
        this.kind = kind;
    }

    /**
     * Returns the size of one element.
     *
     * @return bytes
     */
    public int size() {
        return size;
    }

    /**
     * Returns whether this is an integer type; {@link #BOOL} is not.
     *
     * @return true for int8 to int64 and uint8
     */
    public boolean isInteger() {
        return kind == Kind.INTEGER;
    }

    /**
     * Returns whether this is a floating point type of 16 bits or more.
     *
     * @return true for float16, bfloat16, float32 and float64
     */
    public boolean isFloatingPoint() {
        return kind == Kind.FLOATING;
    }

    /**
     * Returns whether this is an 8-bit floating point type.
     *
     * @return true for the float8 types
     */
    public boolean isFloat8() {
        return kind == Kind.FLOAT8;
    }

    /**
     * Finds a type by name. Case is ignored. The names of nccl-tests and PyTorch, for instance
     * {@code half} and {@code long}, are aliases.
     *
     * @param name the name
     * @return the type
     * @throws UsageException if it is null or unknown; the message lists the names
     */
    public static DataType parse(String name) {
        String wanted = UsageException.nonNull(name, "data type").toLowerCase(Locale.ROOT);
        return switch (wanted) {
            case "half" -> FLOAT16;
            case "float" -> FLOAT32;
            case "double" -> FLOAT64;
            case "char" -> INT8;
            case "byte" -> UINT8;
            case "short" -> INT16;
            case "int" -> INT32;
            case "long" -> INT64;
            case "f8e4m3" -> FLOAT8_E4M3;
            case "f8e5m2" -> FLOAT8_E5M2;
            default -> {
                for (DataType type : values()) {
                    if (type.text.equals(wanted)) {
                        yield type;
                    }
                }
                throw new UsageException(
                        FailureContext.NONE,
                        "unknown data type '%s'; known: %s"
                                .formatted(name, java.util.Arrays.toString(values())));
            }
        };
    }

    /** Returns the name as in PyTorch, for instance {@code float32}. */
    @Override
    public String toString() {
        return text;
    }
}
