package org.jccl.hccl;

import org.jccl.DataType;
import org.jccl.ReduceOp;

/** The numbers of element types and reduce operations in HCCL and in CANN's operators. */
final class HcclTypes {

    static final int SUM = 0;
    static final int PRODUCT = 1;
    static final int MAX = 2;
    static final int MIN = 3;

    private HcclTypes() {}

    /**
     * The type as which elements are moved. 8-bit floats move as bytes, because their numbers
     * differ between versions; so does bool, which HCCL lacks. bfloat16 moves as int16 on older
     * devices.
     */
    static int moved(DataType type, Chip chip) {
        return type == DataType.BFLOAT16 && !chip.movesBfloat16()
                ? number(DataType.INT16)
                : number(type);
    }

    /** HCCL's number of a type, or that of bytes if it has none. */
    static int number(DataType type) {
        return switch (type) {
            case INT8 -> 0;
            case INT16 -> 1;
            case INT32 -> 2;
            case FLOAT16 -> 3;
            case FLOAT32 -> 4;
            case INT64 -> 5;
            case UINT8, BOOL, FLOAT8_E4M3, FLOAT8_E5M2 -> 7;
            case FLOAT64 -> 10;
            case BFLOAT16 -> 11;
        };
    }

    /** The type in which a type is reduced: bool as int8. */
    static DataType reduced(DataType type) {
        return type == DataType.BOOL ? DataType.INT8 : type;
    }

    /**
     * Returns whether reductions of a type with an operation are possible.
     *
     * @param operators whether CANN's operators, which scale, are installed
     */
    static boolean reduces(Chip chip, ReduceOp op, DataType type, boolean operators) {
        if (!op.supports(type) || type == DataType.BOOL && op.kind() == ReduceOp.Kind.BXOR) {
            return false;
        }
        return (operators || op.kind() != ReduceOp.Kind.AVG)
                && chip.reduces(kind(op, type), reduced(type));
    }

    /** The operation of HCCL: for bool, "or" is max and "and" is min. */
    static ReduceOp.Kind kind(ReduceOp op, DataType type) {
        boolean bool = type == DataType.BOOL;
        return switch (op.kind()) {
            case SUM, AVG -> bool ? ReduceOp.Kind.MAX : ReduceOp.Kind.SUM;
            case PRODUCT -> bool ? ReduceOp.Kind.MIN : ReduceOp.Kind.PRODUCT;
            case BOR -> bool ? ReduceOp.Kind.MAX : ReduceOp.Kind.BOR;
            case BAND -> bool ? ReduceOp.Kind.MIN : ReduceOp.Kind.BAND;
            case MIN, MAX, BXOR, PREMUL_SUM -> op.kind();
        };
    }

    /** The number of one of HCCL's operations. */
    static int operation(ReduceOp.Kind kind) {
        return switch (kind) {
            case SUM -> SUM;
            case PRODUCT -> PRODUCT;
            case MAX -> MAX;
            case MIN -> MIN;
            case AVG, BAND, BOR, BXOR, PREMUL_SUM ->
                    throw new IllegalArgumentException("HCCL has no " + kind);
        };
    }

    /** The number of a type in CANN's operators, which differs from that of HCCL. */
    static int operand(DataType type) {
        return switch (type) {
            case FLOAT32 -> 0;
            case FLOAT16 -> 1;
            case FLOAT64 -> 11;
            case BFLOAT16 -> 27;
            case UINT8, INT8, INT16, INT32, INT64, BOOL, FLOAT8_E4M3, FLOAT8_E5M2 ->
                    throw new IllegalArgumentException("no operator takes " + type);
        };
    }
}
