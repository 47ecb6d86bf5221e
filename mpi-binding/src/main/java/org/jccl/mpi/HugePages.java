package org.jccl.mpi;

import org.jccl.BackendUnavailableException;
import org.jccl.spi.HostAllocator;

/**
 * Memory in pages of 2 MB where the system has them free: MPI moves messages through fewer of them
 * twice as fast. Needs no MPI library.
 */
public final class HugePages implements HostAllocator {

    private boolean asked;
    private boolean available;

    /** Creates the allocator; nothing is loaded yet. */
    public HugePages() {}

    @Override
    public long allocate(long bytes) {
        return isAvailable() ? MpiLibraryNative.allocate(bytes) : 0;
    }

    @Override
    public void free(long address, long bytes) {
        MpiLibraryNative.free(address, bytes);
    }

    private synchronized boolean isAvailable() {
        if (!asked) {
            asked = true;
            available = MpiLibraries.isPlatform() && load();
        }
        return available;
    }

    /** Memory is to be had without it, so why it can not be loaded is told when MPI is used. */
    private static boolean load() {
        try {
            MpiLibraries.loadOpener();
            return true;
        } catch (BackendUnavailableException e) {
            return false;
        }
    }
}
