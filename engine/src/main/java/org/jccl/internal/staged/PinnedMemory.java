package org.jccl.internal.staged;

import java.util.ArrayList;
import java.util.List;
import org.jccl.Device;
import org.jccl.internal.memory.HostMemory;
import org.jccl.internal.memory.Reaper;
import org.jccl.spi.DeviceRuntime;

/**
 * Host memory to copy through, page-locked if the device supports it. Pieces are used again,
 * because locking pages takes longer than filling them. At most {@link #MAX_IDLE} bytes are kept
 * idle. Safe for use by several threads.
 */
final class PinnedMemory implements AutoCloseable {

    /** An operation whose input and output are 128 MB each finds both again. */
    static final long MAX_IDLE = 256L << 20;

    private static final long MIN_BYTES = 4096;

    /** Larger pieces are as large as the operation. */
    private static final long MAX_ROUNDED = 64L << 20;

    /** A piece of memory, and what gives it back. */
    record Piece(long address, long bytes, Runnable release) {}

    private final DeviceRuntime runtime;
    private final Device device;
    private final List<Piece> idle = new ArrayList<>();
    private long idleBytes;
    private boolean closed;

    PinnedMemory(DeviceRuntime runtime, Device device) {
        this.runtime = runtime;
        this.device = device;
    }

    /** A piece of any content; the device must be current. */
    Piece take(long bytes) {
        Piece known = takeIdle(bytes);
        return known != null ? known : allocate(roundUp(bytes));
    }

    private synchronized Piece takeIdle(long bytes) {
        Piece best = null;
        for (Piece piece : idle) {
            if (piece.bytes >= bytes && (best == null || piece.bytes < best.bytes)) {
                best = piece;
            }
        }
        if (best != null) {
            idle.remove(best);
            idleBytes -= best.bytes;
        }
        return best;
    }

    /** To a power of two while that is small, so that pieces fit more than one operation. */
    private static long roundUp(long bytes) {
        if (bytes <= MIN_BYTES) {
            return MIN_BYTES;
        }
        return bytes > MAX_ROUNDED ? bytes : Long.highestOneBit(bytes - 1) << 1;
    }

    private Piece allocate(long bytes) {
        long locked = runtime.allocateHost(bytes);
        if (locked != 0) {
            return new Piece(locked, bytes, () -> free(locked));
        }
        HostMemory.Allocation ordinary = HostMemory.get().allocate(bytes);
        return new Piece(ordinary.address(), bytes, ordinary.release());
    }

    /** A vendor may wait for the whole device here. */
    private void free(long locked) {
        Reaper.of(device)
                .free(
                        () -> {
                            runtime.preparePollingThread(device.index());
                            runtime.freeHost(locked);
                        });
    }

    /** Takes a piece back that nothing uses any more. */
    void giveBack(Piece piece) {
        synchronized (this) {
            if (!closed && idleBytes + piece.bytes <= MAX_IDLE) {
                idle.add(piece);
                idleBytes += piece.bytes;
                return;
            }
        }
        piece.release.run();
    }

    /** Frees what lies idle, and later what comes back. */
    @Override
    public void close() {
        List<Piece> last;
        synchronized (this) {
            closed = true;
            last = List.copyOf(idle);
            idle.clear();
        }
        last.forEach(piece -> piece.release.run());
    }
}
