package org.jccl.sccl;

import org.jccl.DataType;
import org.jccl.ReduceOp;

/**
 * The numbers of element types and reduce operations in SCCL. For a number that it does not know,
 * the library throws a C++ exception through its C interface, which ends the process. Only numbers
 * of this class may reach it.
 */
final class ScclTypes {

    static final int FLOAT32 = 0;
    static final int FLOAT16 = 1;
    static final int INT8 = 2;
    static final int UINT8 = 3;
    static final int INT32 = 6;
    static final int BFLOAT16 = 8;
    static final int INT64 = 14;

    static final int SUM = 1;
    static final int MAX = 2;
    static final int MIN = 3;
    static final int PRODUCT = 4;

    private ScclTypes() {}

    /**
     * The type as which elements are moved or reduced. A type that the vendor's own plugin never
     * uses is moved as a type of the same size.
     */
    static int type(DataType type) {
        return switch (type) {
            case FLOAT32 -> FLOAT32;
            case FLOAT16 -> FLOAT16;
            case BFLOAT16 -> BFLOAT16;
            case INT8 -> INT8;
            case UINT8, BOOL, INT16, FLOAT8_E4M3, FLOAT8_E5M2 -> UINT8;
            case INT32 -> INT32;
            case INT64, FLOAT64 -> INT64;
        };
    }

    /** The number of elements of {@link #type} that hold {@code count} elements of a type. */
    static long count(DataType type, long count) {
        return type == DataType.INT16 ? 2 * count : count;
    }

    /**
     * Returns whether a type can be reduced with an operation. The library accepts more types, but
     * the vendor's own code converts all others to one of these four before it reduces.
     */
    static boolean reduces(ReduceOp op, DataType type) {
        boolean floating =
                switch (type) {
                    case FLOAT32, FLOAT16, BFLOAT16 -> true;
                    default -> false;
                };
        return switch (op.kind()) {
            case SUM, PRODUCT, MIN, MAX -> floating || type == DataType.INT32;
            case AVG -> floating;
            case BAND, BOR, BXOR, PREMUL_SUM -> false;
        };
    }

    /** The library's number of an operation; AVG starts with a sum. */
    static int op(ReduceOp op) {
        return switch (op.kind()) {
            case SUM, AVG -> SUM;
            case MAX -> MAX;
            case MIN -> MIN;
            case PRODUCT -> PRODUCT;
            case BAND, BOR, BXOR, PREMUL_SUM ->
                    throw new IllegalArgumentException("SCCL has no " + op);
        };
    }
}
