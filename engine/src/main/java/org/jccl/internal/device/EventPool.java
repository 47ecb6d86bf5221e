package org.jccl.internal.device;

import java.util.Arrays;
import org.jccl.spi.DeviceRuntime;

/**
 * Native events of one device, reused: creating one costs more than recording it, and destroying
 * one can hang when the device does.
 */
public final class EventPool {

    private final DeviceRuntime runtime;
    private final boolean timing;
    private long[] free = new long[16];
    private int count;
    private boolean closed;

    /** Creates an empty pool. */
    public EventPool(DeviceRuntime runtime, boolean timing) {
        this.runtime = runtime;
        this.timing = timing;
    }

    /** The device must be current. */
    public synchronized long take() {
        return count > 0 ? free[--count] : runtime.createEvent(timing);
    }

    /** Destroys the event if the pool is closed: a program may keep an end event that long. */
    public synchronized void giveBack(long event) {
        if (closed) {
            runtime.destroyEvent(event);
            return;
        }
        if (count == free.length) {
            free = Arrays.copyOf(free, 2 * count);
        }
        free[count++] = event;
    }

    /** Destroys all events, also the ones that are given back later. */
    public synchronized void destroyAll() {
        closed = true;
        while (count > 0) {
            runtime.destroyEvent(free[--count]);
        }
    }
}
