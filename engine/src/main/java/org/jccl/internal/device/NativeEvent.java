package org.jccl.internal.device;

import java.lang.ref.Reference;
import java.time.Duration;
import org.jccl.Device;
import org.jccl.Event;
import org.jccl.FailureContext;
import org.jccl.Stream;
import org.jccl.UsageException;
import org.jccl.internal.backend.DeviceRuntimes;
import org.jccl.internal.checks.Require;
import org.jccl.internal.device.failures.EventClock;
import org.jccl.spi.DeviceRuntime;

/** An event of a device, with the clock of its stream when it was recorded. */
public final class NativeEvent extends NativeHandle implements Event {

    private final boolean timing;
    private volatile boolean recorded;

    /** Whether it is the end of a work, and cannot be recorded. */
    private boolean lent;

    /** What happens before it since it was recorded. */
    private volatile EventClock clock;

    /** Destroys the native event, or lets it go. */
    private final Runnable end;

    private NativeEvent(
            Device device, DeviceRuntime runtime, long handle, boolean timing, Runnable end) {
        super(device, runtime, handle);
        this.timing = timing;
        this.end = end;
    }

    /** Creates an event on an accelerator, which becomes current. */
    public static NativeEvent create(Device device, boolean timing) {
        DeviceRuntime runtime = DeviceRuntimes.of(device);
        long handle = runtime.createEvent(timing);
        return new NativeEvent(device, runtime, handle, timing, () -> runtime.destroyEvent(handle));
    }

    /**
     * Wraps another library's event, which may have recorded it, and with time.
     *
     * @param device its device
     * @param handle the native handle
     * @param owner kept reachable as long as this object is; may be null
     * @return the event
     */
    public static NativeEvent ofHandle(Device device, long handle, Object owner) {
        DeviceRuntime runtime = DeviceRuntimes.of(device);
        if (handle == 0) {
            throw new UsageException(FailureContext.NONE, "event is a null pointer");
        }
        Runnable end = () -> Reference.reachabilityFence(owner);
        NativeEvent event = new NativeEvent(device, runtime, handle, true, end);
        event.clock = EventClock.unknown();
        event.recorded = true;
        return event;
    }

    /** Creates an event that is complete and cannot be recorded. */
    static NativeEvent complete(Device device) {
        NativeEvent event = create(device, false);
        event.lent = true;
        return event;
    }

    /**
     * Lends an event that was recorded.
     *
     * @param before what happens before it
     * @param end called once when it is closed and no longer used
     */
    static NativeEvent lent(
            Device device, DeviceRuntime runtime, long handle, EventClock before, Runnable end) {
        NativeEvent event = new NativeEvent(device, runtime, handle, false, end);
        event.clock = before;
        event.recorded = true;
        event.lent = true;
        return event;
    }

    /** The event of this API that a program passed; throws for any other. */
    static NativeEvent of(Event event) {
        if (Require.nonNull(event, "event") instanceof NativeEvent known) {
            return known;
        }
        throw new UsageException(
                FailureContext.NONE,
                "event is a "
                        + event.getClass().getName()
                        + ", which was not made by the static methods of Event; wrap the native"
                        + " event with Event.ofHandle");
    }

    @Override
    public void record(Stream on) {
        NativeStream stream = NativeStream.of(on);
        if (lent) {
            throw new UsageException(
                    FailureContext.NONE,
                    "this event marks the end of a work and cannot be recorded; use Event.create");
        }
        if (!stream.device().equals(device)) {
            throw new UsageException(
                    FailureContext.NONE,
                    "event of " + device + " cannot be recorded on a stream of " + stream.device());
        }
        enter();
        try {
            stream.enter();
            try {
                recordOn(stream);
            } finally {
                stream.leave();
            }
        } finally {
            leave();
        }
    }

    private void recordOn(NativeStream stream) {
        DeviceRuntimes.enter(runtime, device);
        EventClock before = stream.clocks().recorded(stream.handle());
        runtime.recordEvent(handle, stream.handle());
        clock = before;
        recorded = true;
    }

    /** Throws the failure, if there is one already, of a group that happens before the event. */
    public void checkFailure() {
        if (recorded) {
            clock.checkFailure();
        }
    }

    @Override
    public boolean query() {
        enter();
        try {
            if (!recorded) {
                return true;
            }
            DeviceRuntimes.setDeviceForQuery(runtime, device);
            return clock.query(() -> runtime.queryEvent(handle));
        } finally {
            leave();
        }
    }

    @Override
    public void synchronize() {
        enter();
        try {
            if (recorded) {
                DeviceRuntimes.setDeviceForQuery(runtime, device);
                clock.synchronize(millis -> runtime.awaitEvent(handle, millis));
            }
        } finally {
            leave();
        }
    }

    @Override
    public Duration elapsed(Event later) {
        NativeEvent end = of(later);
        enter();
        try {
            end.enter();
            try {
                return elapsedUntil(end);
            } finally {
                end.leave();
            }
        } finally {
            leave();
        }
    }

    private Duration elapsedUntil(NativeEvent end) {
        if (!timing || !end.timing || !recorded || !end.recorded) {
            throw new UsageException(
                    FailureContext.NONE,
                    "elapsed needs two events that were created with timing and recorded");
        }
        if (!query() || !end.query()) {
            throw new UsageException(
                    FailureContext.NONE, "both events must be complete; synchronize the later one");
        }
        return Duration.ofNanos(Math.round(runtime.elapsedMillis(handle, end.handle) * 1e6));
    }

    boolean isRecorded() {
        return recorded;
    }

    EventClock clock() {
        return clock;
    }

    @Override
    public void close() {
        end();
    }

    @Override
    void destroyNative() {
        DeviceRuntimes.setDeviceForQuery(runtime, device);
        end.run();
    }

    @Override
    String kind() {
        return "event";
    }
}
