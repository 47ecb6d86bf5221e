package org.jccl.conformance.inmemory;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.function.DoubleBinaryOperator;
import java.util.function.LongBinaryOperator;
import org.jccl.DataType;
import org.jccl.ReduceOp;
import org.jccl.conformance.Elements;

/** Reduces the ranks' elements in rank order. */
final class Reducer {

    private Reducer() {}

    static byte[] reduce(DataType type, ReduceOp op, List<byte[]> inputs) {
        return type.isFloatingPoint() ? floats(type, op, inputs) : integers(type, op, inputs);
    }

    private static byte[] floats(DataType type, ReduceOp op, List<byte[]> inputs) {
        DoubleBinaryOperator step =
                switch (op.kind()) {
                    case SUM, AVG, PREMUL_SUM -> Double::sum;
                    case PRODUCT -> (a, b) -> a * b;
                    case MIN -> Math::min;
                    case MAX -> Math::max;
                    default -> throw new IllegalArgumentException(op + " of " + type);
                };
        double before = op.factor();
        double after = op.kind() == ReduceOp.Kind.AVG ? inputs.size() : 1;
        double[] result = null;
        for (byte[] input : inputs) {
            double[] values = Elements.decode(type, input);
            for (int i = 0; i < values.length; i++) {
                double value = values[i] * before;
                values[i] = result == null ? value : step.applyAsDouble(result[i], value);
            }
            result = values;
        }
        for (int i = 0; i < result.length; i++) {
            result[i] /= after;
        }
        return Elements.encode(type, result);
    }

    private static byte[] integers(DataType type, ReduceOp op, List<byte[]> inputs) {
        boolean logical = type == DataType.BOOL;
        LongBinaryOperator step =
                switch (op.kind()) {
                    case SUM -> logical ? (a, b) -> a | b : Long::sum;
                    case PRODUCT -> (a, b) -> a * b;
                    case MIN -> Math::min;
                    case MAX -> Math::max;
                    case BAND -> (a, b) -> a & b;
                    case BOR -> (a, b) -> a | b;
                    case BXOR -> (a, b) -> a ^ b;
                    default -> throw new IllegalArgumentException(op + " of " + type);
                };
        long[] result = null;
        for (byte[] input : inputs) {
            long[] values = integers(type, input);
            for (int i = 0; result != null && i < values.length; i++) {
                values[i] = step.applyAsLong(result[i], values[i]);
            }
            result = values;
        }
        return Elements.encode(type, result);
    }

    private static long[] integers(DataType type, byte[] elements) {
        ByteBuffer bytes = ByteBuffer.wrap(elements).order(ByteOrder.nativeOrder());
        long[] values = new long[elements.length / type.size()];
        for (int i = 0; i < values.length; i++) {
            values[i] =
                    switch (type) {
                        case INT8 -> bytes.get();
                        case UINT8, BOOL -> bytes.get() & 0xff;
                        case INT16 -> bytes.getShort();
                        case INT32 -> bytes.getInt();
                        case INT64 -> bytes.getLong();
                        default -> throw new IllegalArgumentException(type.toString());
                    };
        }
        return values;
    }
}
