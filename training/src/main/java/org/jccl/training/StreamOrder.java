package org.jccl.training;

import org.jccl.Device;
import org.jccl.Event;
import org.jccl.Stream;

/**
 * Orders streams of one device after each other, without blocking the host. Does nothing on the
 * CPU. Guarded by the reducer's lock.
 */
final class StreamOrder implements AutoCloseable {

    private final Device device;

    /** Recorded again for each wait. An enqueued wait refers to the recording before it. */
    private final Event point;

    /** Recorded at the end of a step. */
    private final Event end;

    private long endStream;
    private boolean ended;

    StreamOrder(Device device) {
        this.device = device;
        point = device.isCpu() ? null : Event.create(device, false);
        end = device.isCpu() ? null : Event.create(device, false);
    }

    /** Returns the calling thread's current stream, or null on the CPU. */
    Stream current() {
        return device.isCpu() ? null : Stream.current(device);
    }

    /** Makes the current stream wait for the work on another stream. */
    void currentWaitsFor(Stream other) {
        Stream current = current();
        if (current.handle() != other.handle()) {
            point.record(other);
            current.waitEvent(point);
        }
    }

    /** Records the last read of the buckets. */
    void stepEnds() {
        Stream current = current();
        if (current != null) {
            end.record(current);
            endStream = current.handle();
            ended = true;
        }
    }

    /** Makes the current stream wait until the last step has read the buckets. */
    void awaitLastStep(Stream current) {
        if (ended && current.handle() != endStream) {
            current.waitEvent(end);
        }
    }

    /** Blocks the host until the current stream is done. */
    void synchronize() {
        Stream current = current();
        if (current != null) {
            current.synchronize();
        }
    }

    @Override
    public void close() {
        if (point != null) {
            point.close();
            end.close();
        }
    }
}
