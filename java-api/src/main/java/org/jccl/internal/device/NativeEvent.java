package org.jccl.internal.device;

import java.time.Duration;
import org.jccl.Device;
import org.jccl.Event;
import org.jccl.FailureContext;
import org.jccl.Stream;
import org.jccl.UsageException;
import org.jccl.internal.backend.DeviceRuntimes;
import org.jccl.internal.checks.Given;
import org.jccl.spi.DeviceRuntime;

/** An event of a device, and what its stream waited for when it was recorded. */
public final class NativeEvent implements Event {

    private final Device device;
    private final DeviceRuntime runtime;
    private final long handle;
    private final boolean timing;
    private volatile boolean recorded;

    /** What it waits for since it was recorded. */
    private volatile Dependencies dependencies;

    private boolean closed;

    private NativeEvent(Device device, DeviceRuntime runtime, long handle, boolean timing) {
        this.device = device;
        this.runtime = runtime;
        this.handle = handle;
        this.timing = timing;
    }

    /**
     * Creates an event.
     *
     * @param device an accelerator, which becomes current
     * @param timing whether it can be asked for times
     * @return the event, to be closed
     */
    public static NativeEvent create(Device device, boolean timing) {
        DeviceRuntime runtime = DeviceRuntimes.of(device);
        return new NativeEvent(device, runtime, runtime.createEvent(timing), timing);
    }

    /** The event that a program gave. */
    static NativeEvent given(Event event) {
        if (Given.notNull(event, "event") instanceof NativeEvent known) {
            return known;
        }
        throw new UsageException(
                FailureContext.NONE,
                "event is a "
                        + event.getClass().getName()
                        + ", which was not made by Event.create; only such events can be used");
    }

    @Override
    public void record(Stream given) {
        requireOpen();
        NativeStream stream = NativeStream.given(given);
        if (!stream.device().equals(device)) {
            throw new UsageException(
                    FailureContext.NONE,
                    "event of "
                            + device
                            + " can not be recorded on a stream of "
                            + stream.device());
        }
        DeviceRuntimes.enter(runtime, device);
        stream.enter();
        try {
            Dependencies before = stream.orders().recorded(stream.handle());
            runtime.recordEvent(handle, stream.handle());
            dependencies = before;
        } finally {
            stream.leave();
        }
        recorded = true;
    }

    /**
     * Refuses to go on from what a failed group has left.
     *
     * @throws org.jccl.JcclException the failure of a group that the event was ordered after
     */
    public void requireWell() {
        if (recorded) {
            StreamOrders.requireWell(dependencies);
        }
    }

    @Override
    public boolean query() {
        requireOpen();
        if (!recorded) {
            return true;
        }
        DeviceRuntimes.enterForQuestion(runtime, device);
        return StreamOrders.query(dependencies, () -> runtime.queryEvent(handle));
    }

    @Override
    public void synchronize() {
        requireOpen();
        if (recorded) {
            DeviceRuntimes.enterForQuestion(runtime, device);
            StreamOrders.synchronize(dependencies, millis -> runtime.awaitEvent(handle, millis));
        }
    }

    @Override
    public Duration elapsed(Event later) {
        requireOpen();
        NativeEvent end = given(later);
        end.requireOpen();
        if (!timing || !end.timing || !recorded || !end.recorded) {
            throw new UsageException(
                    FailureContext.NONE,
                    "both events must be made with timing and recorded before elapsed is asked");
        }
        if (!query() || !end.query()) {
            throw new UsageException(
                    FailureContext.NONE, "both events must be complete; synchronize the later one");
        }
        return Duration.ofNanos(Math.round(runtime.elapsedMillis(handle, end.handle) * 1e6));
    }

    @Override
    public Device device() {
        return device;
    }

    @Override
    public long handle() {
        return handle;
    }

    boolean isRecorded() {
        return recorded;
    }

    Dependencies dependencies() {
        return dependencies;
    }

    private synchronized void requireOpen() {
        if (closed) {
            throw new UsageException(FailureContext.NONE, "event on " + device + " is closed");
        }
    }

    @Override
    public synchronized void close() {
        if (!closed) {
            closed = true;
            DeviceRuntimes.enterForQuestion(runtime, device);
            runtime.destroyEvent(handle);
        }
    }
}
