package org.jccl.internal.staged;

import org.jccl.internal.operation.Operation;
import org.jccl.spi.OperationKind;

/**
 * How a collective is cut: each window is the same range of elements of every part, so that what is
 * done with it is the same collective with smaller parts. All ranks cut alike, since they know the
 * same counts; of an all-to-all with parts of different sizes they do not, so that is not cut.
 *
 * <p>Ranks that disagree about sizes must not end well with what they have in common. So one that
 * is cut has windows larger than any that is not, and ends with a barrier, which ranks that have
 * another window to come do not meet.
 *
 * @param length elements of each part in a window; the last one is shorter
 * @param number how many, at least 1
 * @param cut whether a barrier comes after them
 */
record Windows(long length, long number, boolean cut) {

    /** What goes at once, of all parts together. */
    static final long BYTES = 4L << 20;

    /** Of one part no less than this goes at once, however many there are. */
    private static final long LEAST_BYTES = 64L << 10;

    static Windows of(Operation operation, int size) {
        return of(operation, size, BYTES);
    }

    static Windows of(Operation operation, int size, long bytes) {
        long largest = largest(operation);
        if (operation.kind == OperationKind.ALL_TO_ALL_V) {
            return new Windows(largest, 1, false);
        }
        long part = hasParts(operation.kind) ? Math.max(bytes / size, LEAST_BYTES) : bytes;
        long length = part / operation.type.size();
        return largest < length
                ? new Windows(largest, 1, false)
                : new Windows(length, (largest + length - 1) / length, true);
    }

    private static boolean hasParts(OperationKind kind) {
        return switch (kind) {
            case BROADCAST, ALL_REDUCE, REDUCE -> false;
            default -> true;
        };
    }

    /** The largest part that any rank has. */
    private static long largest(Operation operation) {
        long largest = operation.count;
        for (long[] counts : new long[][] {operation.inputCounts, operation.outputCounts}) {
            if (counts != null) {
                for (long count : counts) {
                    largest = Math.max(largest, count);
                }
            }
        }
        return largest;
    }
}
