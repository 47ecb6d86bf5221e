package org.jccl.internal.staged;

import java.util.ArrayDeque;
import org.jccl.Device;
import org.jccl.internal.device.NativeEvent;
import org.jccl.spi.CleanUp;

/**
 * Pooled events that event the positions of callers' streams. One that was never given back belongs
 * to an operation that failed: its stream may be stuck, and destroying it then can hang, so it is
 * lost.
 */
final class CallerEvents implements AutoCloseable {

    private final Device device;
    private final ArrayDeque<NativeEvent> free = new ArrayDeque<>();

    CallerEvents(Device device) {
        this.device = device;
    }

    /** One to record. */
    NativeEvent take() {
        NativeEvent known;
        synchronized (this) {
            known = free.poll();
        }
        return known != null ? known : NativeEvent.create(device, false);
    }

    synchronized void giveBack(NativeEvent event) {
        free.push(event);
    }

    @Override
    public synchronized void close() {
        free.forEach(event -> CleanUp.run(device.toString(), event::close));
        free.clear();
    }
}
