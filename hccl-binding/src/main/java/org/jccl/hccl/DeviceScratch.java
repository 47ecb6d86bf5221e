package org.jccl.hccl;

import java.util.ArrayDeque;

/**
 * Device memory that operations use one after the other, also on different streams. It grows and
 * never blocks the host. For one thread at a time.
 */
final class DeviceScratch {

    /** Larger memory is not rounded up, because nobody may need the rest. */
    private static final long MOST_DOUBLED = 64L << 20;

    /** Memory that became too small, and the event of its last use. */
    private record Outgrown(long address, long event) {}

    private final CannRuntime runtime;
    private final ArrayDeque<Outgrown> outgrown = new ArrayDeque<>();
    private long address;
    private long bytes;
    private long event;
    private long lastStream;
    private boolean used;

    DeviceScratch(CannRuntime runtime) {
        this.runtime = runtime;
    }

    /** Returns memory for operations on a stream until {@link #release}. The device is current. */
    long take(long wanted, long stream) {
        freeOutgrown();
        if (wanted > bytes) {
            grow(wanted);
        }
        if (used && stream != lastStream) {
            runtime.waitEvent(stream, event);
        }
        return address;
    }

    private void grow(long wanted) {
        long size = Math.max(wanted, Math.min(2 * bytes, MOST_DOUBLED));
        long larger = runtime.allocate(size);
        if (used) {
            outgrown.add(new Outgrown(address, event));
        } else if (bytes > 0) {
            runtime.free(address);
            runtime.destroyEvent(event);
        }
        address = larger;
        bytes = size;
        event = runtime.createEvent(false);
        used = false;
    }

    /** Called after everything that uses the memory was enqueued. */
    void release(long stream) {
        runtime.recordEvent(event, stream);
        lastStream = stream;
        used = true;
    }

    private void freeOutgrown() {
        while (!outgrown.isEmpty() && runtime.queryEvent(outgrown.peek().event)) {
            free(outgrown.poll());
        }
    }

    private void free(Outgrown old) {
        runtime.free(old.address);
        runtime.destroyEvent(old.event);
    }

    /** Frees all memory. The device is current and does not use it any more. */
    void close() {
        outgrown.forEach(this::free);
        outgrown.clear();
        if (bytes > 0) {
            runtime.free(address);
            runtime.destroyEvent(event);
            bytes = 0;
        }
    }
}
