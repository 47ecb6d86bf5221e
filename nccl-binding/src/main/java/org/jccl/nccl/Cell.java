package org.jccl.nccl;

/**
 * Native memory for one handle that NCCL writes, possibly after the call has returned. It must not
 * be closed before NCCL's job has ended.
 */
final class Cell implements AutoCloseable {

    private final long address;

    Cell() {
        address = NcclNative.newCell();
        if (address == 0) {
            throw new OutOfMemoryError("8 bytes of native memory for a handle of NCCL");
        }
    }

    /** Returns the address for the call that writes it. */
    long address() {
        return address;
    }

    /** Returns the last value that was written, or 0. */
    long get() {
        return NcclNative.cell(address);
    }

    @Override
    public void close() {
        NcclNative.freeCell(address);
    }
}
