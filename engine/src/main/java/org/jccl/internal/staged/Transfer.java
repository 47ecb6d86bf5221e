package org.jccl.internal.staged;

import org.jccl.internal.operation.Operation;
import org.jccl.spi.CleanUp;
import org.jccl.spi.OperationKind;

/**
 * The tensors of one operation in host memory, and the copy between there and the device that is
 * under way. Used by one thread at a time.
 */
final class Transfer {

    private static final long NONE = 0;

    private final HostMemoryStaging staging;
    private final Operation operation;
    private final Parts read;
    private final Parts written;

    /** For what the library reads. */
    private final PinnedMemory.Piece input;

    /** For what the library writes; the same if it reads and writes one location. */
    private final PinnedMemory.Piece output;

    private CopyStream copying;

    /** Behind the copy that is under way, or {@link #NONE}. */
    private long copied = NONE;

    /** Takes host memory; the device must be current. */
    Transfer(HostMemoryStaging staging, Operation operation) {
        this.staging = staging;
        this.operation = operation;
        int rank = staging.location.group().rank();
        int size = staging.location.size();
        this.read = Parts.read(operation, rank, size);
        this.written = Parts.written(operation, rank, size);
        long reads = read.elements() * operation.type.size();
        long writes = written.elements() * operation.type.size();
        boolean inPlace =
                switch (operation.kind) {
                    case BROADCAST, ALL_REDUCE, REDUCE, SEND, RECV -> true;
                    default -> false;
                };
        this.input = staging.memory.take(Math.max(1, inPlace ? Math.max(reads, writes) : reads));
        this.output = inPlace ? input : takeBeside(input, Math.max(1, writes));
    }

    private PinnedMemory.Piece takeBeside(PinnedMemory.Piece first, long bytes) {
        try {
            return staging.memory.take(bytes);
        } catch (RuntimeException | OutOfMemoryError e) {
            staging.memory.giveBack(first);
            throw e;
        }
    }

    /** The address of the host memory of a message. */
    long address() {
        return input.address();
    }

    /** Begins to copy down what the library reads. */
    void copyDown() {
        copy(operation.kind == OperationKind.SEND ? staging.sends : staging.down, read, input);
    }

    /** Begins to copy up what the library has written. */
    void copyUp() {
        copy(operation.kind == OperationKind.RECV ? staging.receives : staging.up, written, output);
    }

    private void copy(CopyStream stream, Parts parts, PinnedMemory.Piece host) {
        if (parts.elements() > 0) {
            copying = stream;
            copied = stream.takeEvent();
            stream.copy(parts, host.address(), operation.type.size(), copied);
        }
    }

    /** Returns whether the copy is over; never blocks. Throws if it failed. */
    boolean isCopied() {
        if (copied != NONE && copying.isDone(copied)) {
            copied = NONE;
        }
        return copied == NONE;
    }

    void awaitCopy() {
        staging.polling.awaitCopies(this::isCopied);
    }

    /** Runs a collective on the host memory. */
    void call() {
        Operation host = new Operation();
        host.describeAs(operation);
        boolean root = operation.peer == staging.location.group().rank();
        // Only the root has all the parts.
        host.input = operation.kind == OperationKind.SCATTER && !root ? 0 : input.address();
        host.output = operation.kind == OperationKind.GATHER && !root ? 0 : output.address();
        host.call(staging.communicator);
    }

    /** Gives the host memory back, unless a copy or, after a failure, the library may use it. */
    void end() {
        try {
            awaitCopy();
        } catch (RuntimeException e) {
            // Memory that is lost is better than memory that a late copy overwrites.
            CleanUp.log("copies of " + operation.describe(), e);
            operation.retainMemory();
            return;
        }
        if (!staging.communicator.abandonsOperations()) {
            staging.memory.giveBack(input);
            if (output != input) {
                staging.memory.giveBack(output);
            }
        }
    }
}
