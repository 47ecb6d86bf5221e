package org.jccl.nccl;

/**
 * Native memory for one handle that NCCL writes, maybe after the call that it was given to has
 * returned. So it must not be closed before that call is over.
 */
final class Cell implements AutoCloseable {

    private final long address;

    Cell() {
        address = NcclNative.newCell();
        if (address == 0) {
            throw new OutOfMemoryError("8 bytes of native memory for a handle of NCCL");
        }
    }

    /** To be passed to the call that writes it. */
    long address() {
        return address;
    }

    /** What was written last; 0 before. */
    long get() {
        return NcclNative.cell(address);
    }

    @Override
    public void close() {
        NcclNative.freeCell(address);
    }
}
