package org.jccl.internal.operation;

import org.jccl.internal.memory.ScratchMemory;
import org.jccl.spi.OperationKind;

/**
 * Scratch memory through which operations with non-contiguous parts are copied, if the library
 * needs contiguous memory. It grows and is retained, because new memory causes page faults. Used by
 * the thread that executes the collective.
 */
public final class BounceBuffer implements AutoCloseable {

    private final ScratchMemory memory;
    private final Scratch inputs = new Scratch();
    private final Scratch outputs = new Scratch();

    public BounceBuffer(ScratchMemory memory) {
        this.memory = memory;
    }

    public boolean needs(Operation operation) {
        return operation.inputParts != null || operation.outputParts != null;
    }

    /** Gathers the input parts and points the operation to scratch memory. */
    public void before(Operation operation) {
        if (operation.inputParts != null) {
            operation.input = inputs.reserve(bytes(operation, operation.inputCounts));
            copy(operation, operation.inputParts, operation.inputCounts, operation.input, true);
        }
        if (operation.outputParts != null) {
            operation.output = outputs.reserve(bytes(operation, operation.outputCounts));
            if (isInPlace(operation)) {
                copy(
                        operation,
                        operation.outputParts,
                        operation.outputCounts,
                        operation.output,
                        true);
                operation.input = operation.output;
            }
        }
    }

    /** Copies the output to its parts. */
    public void after(Operation operation) {
        if (operation.outputParts != null) {
            copy(operation, operation.outputParts, operation.outputCounts, operation.output, false);
        }
    }

    /** Returns whether its tensors are input and output. */
    private static boolean isInPlace(Operation operation) {
        return operation.kind == OperationKind.ALL_REDUCE
                || operation.kind == OperationKind.BROADCAST;
    }

    private static long bytes(Operation operation, long[] counts) {
        long elements = 0;
        if (counts == null) {
            int parts =
                    operation.inputParts != null
                            ? operation.inputParts.length
                            : operation.outputParts.length;
            elements = operation.count * parts;
        } else {
            for (long count : counts) {
                elements += count;
            }
        }
        return elements * operation.type.size();
    }

    private void copy(
            Operation operation, long[] parts, long[] counts, long scratch, boolean toScratch) {
        for (int i = 0; i < parts.length; i++) {
            long bytes = (counts == null ? operation.count : counts[i]) * operation.type.size();
            if (bytes > 0) {
                memory.copy(toScratch ? parts[i] : scratch, toScratch ? scratch : parts[i], bytes);
            }
            scratch += bytes;
        }
        memory.finishCopies();
    }

    @Override
    public void close() {
        inputs.close();
        outputs.close();
        memory.close();
    }

    private final class Scratch {

        private long address;
        private long capacity;

        long reserve(long bytes) {
            if (address == 0 || bytes > capacity) {
                close();
                capacity = Math.max(1, Math.max(bytes, 2 * capacity));
                address = memory.allocate(capacity);
            }
            return address;
        }

        void close() {
            if (address != 0) {
                memory.free(address);
                address = 0;
            }
        }
    }
}
