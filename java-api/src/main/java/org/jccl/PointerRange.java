package org.jccl;

import org.bytedeco.javacpp.BoolPointer;
import org.bytedeco.javacpp.BooleanPointer;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.DoublePointer;
import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.javacpp.IntPointer;
import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.ShortPointer;

/**
 * The memory of a JavaCPP pointer. Separate from {@link Tensor}, because not every program has
 * JavaCPP.
 */
final class PointerRange {

    private PointerRange() {}

    /** Returns the address of the pointer's position; never 0. */
    static long address(Pointer pointer) {
        if (pointer.isNull()) {
            throw usage("pointer is a null pointer, or was deallocated");
        }
        return pointer.address() + pointer.position() * pointer.sizeof();
    }

    /** Checks that a pointer has a number of elements, as far as it knows its size. */
    static void require(Pointer pointer, long count, DataType dataType) {
        requireHolds(pointer, dataType);
        if (pointer.limit() == 0) {
            return;
        }
        long known = count(pointer, dataType);
        if (count > known) {
            throw usage("pointer has " + known + " elements of " + dataType + ", not " + count);
        }
    }

    private static void requireHolds(Pointer pointer, DataType dataType) {
        if (!mayHold(pointer, dataType)) {
            throw usage(
                    "%s is not known to hold %s elements; use the data type that matches it, or Tensor.of(address, count, ...)"
                            .formatted(pointer.getClass().getName(), dataType));
        }
    }

    /** Returns the number of elements of a type from the position to the limit. */
    static long count(Pointer pointer, DataType dataType) {
        requireHolds(pointer, dataType);
        long size = pointer.sizeof();
        if (size <= 0) {
            throw usage("pointer's element size is unknown; is JavaCPP's native library present?");
        }
        // A pointer to memory of unknown size has the limit 0.
        if (pointer.limit() == 0) {
            throw usage(
                    "pointer has no limit, so its size is unknown; use Tensor.ofPointer(pointer, count, ...), or set it with limit(elements)");
        }
        if (pointer.position() < 0 || pointer.position() > pointer.limit()) {
            throw usage(
                    "pointer's position %s is not between 0 and its limit %s"
                            .formatted(pointer.position(), pointer.limit()));
        }
        long elements = pointer.limit() - pointer.position();
        if (elements > Long.MAX_VALUE / size) {
            throw usage("pointer's limit is more than fits in memory, got " + pointer.limit());
        }
        long bytes = elements * size;
        if (bytes % dataType.size() != 0) {
            throw usage(
                    "pointer has %s bytes, which is not a whole number of %s elements"
                            .formatted(bytes, dataType));
        }
        return bytes / dataType.size();
    }

    private static boolean mayHold(Pointer pointer, DataType type) {
        // For a subclass without generated code, JavaCPP returns the size of a pointer.
        if (pointer.getClass() == Pointer.class || pointer instanceof BytePointer) {
            return true;
        }
        if (pointer instanceof FloatPointer) {
            return type == DataType.FLOAT32;
        }
        if (pointer instanceof DoublePointer) {
            return type == DataType.FLOAT64;
        }
        if (pointer instanceof IntPointer) {
            return type == DataType.INT32;
        }
        if (pointer instanceof LongPointer) {
            return type == DataType.INT64;
        }
        if (pointer instanceof ShortPointer) {
            return type.size() == Short.BYTES;
        }
        return (pointer instanceof BoolPointer || pointer instanceof BooleanPointer)
                && type == DataType.BOOL;
    }

    private static UsageException usage(String message) {
        return new UsageException(FailureContext.NONE, message);
    }
}
