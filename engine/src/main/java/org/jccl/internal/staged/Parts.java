package org.jccl.internal.staged;

import org.jccl.internal.operation.Operation;

/**
 * What an operation reads or writes in the device's memory: parts of one size or of several sizes,
 * contiguous or apart.
 *
 * @param base address of the first part, unless they lie apart
 * @param apart address of each part, or null
 * @param number how many parts
 * @param count elements of each part, unless they differ
 * @param counts elements of each part, or null
 */
record Parts(long base, long[] apart, int number, long count, long[] counts) {

    /** Nothing is read, or nothing is written. */
    static final Parts NONE = new Parts(0, null, 0, 0, null);

    private static Parts one(long address, long count) {
        return new Parts(address, null, 1, count, null);
    }

    /** What a rank reads. */
    static Parts read(Operation operation, int rank, int size) {
        return switch (operation.kind) {
            case BROADCAST ->
                    operation.peer == rank ? one(operation.output, operation.count) : NONE;
            case ALL_REDUCE, REDUCE, ALL_GATHER, GATHER, SEND ->
                    one(operation.input, operation.count);
            case ALL_GATHER_V -> one(operation.input, operation.outputCounts[rank]);
            case SCATTER -> operation.peer == rank ? inputs(operation, size) : NONE;
            case REDUCE_SCATTER, REDUCE_SCATTER_V, ALL_TO_ALL, ALL_TO_ALL_V ->
                    inputs(operation, size);
            case RECV, BARRIER -> NONE;
        };
    }

    /** What a rank writes. */
    static Parts written(Operation operation, int rank, int size) {
        return switch (operation.kind) {
            case BROADCAST ->
                    operation.peer == rank ? NONE : one(operation.output, operation.count);
            case REDUCE -> operation.peer == rank ? one(operation.output, operation.count) : NONE;
            case ALL_REDUCE, SCATTER, REDUCE_SCATTER, RECV ->
                    one(operation.output, operation.count);
            case REDUCE_SCATTER_V -> one(operation.output, operation.inputCounts[rank]);
            case GATHER -> operation.peer == rank ? outputs(operation, size) : NONE;
            case ALL_GATHER, ALL_GATHER_V, ALL_TO_ALL, ALL_TO_ALL_V -> outputs(operation, size);
            case SEND, BARRIER -> NONE;
        };
    }

    private static Parts inputs(Operation operation, int size) {
        return new Parts(
                operation.input,
                operation.inputParts,
                size,
                operation.count,
                operation.inputCounts);
    }

    private static Parts outputs(Operation operation, int size) {
        return new Parts(
                operation.output,
                operation.outputParts,
                size,
                operation.count,
                operation.outputCounts);
    }

    private long count(int part) {
        return counts == null ? count : counts[part];
    }

    /** The elements of all parts together. */
    long elements() {
        long all = 0;
        for (int part = 0; part < number; part++) {
            all += count(part);
        }
        return all;
    }

    /** Copies elements between the device and the host. */
    interface Copier {
        void copy(long onDevice, long onHost, long bytes);
    }

    /** Copies all parts, which on the host are one after the other. */
    void copy(long host, int elementSize, Copier copier) {
        long offset = 0;
        for (int part = 0; part < number; part++) {
            long bytes = count(part) * elementSize;
            if (bytes > 0) {
                copier.copy(apart == null ? base + offset : apart[part], host + offset, bytes);
            }
            offset += bytes;
        }
    }
}
