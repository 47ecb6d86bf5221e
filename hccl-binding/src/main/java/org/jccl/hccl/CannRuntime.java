package org.jccl.hccl;

import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import org.jccl.spi.DeviceRuntime;

/**
 * Streams, events and memory of Ascend devices, with the ACL runtime. Thread-safe.
 *
 * <p>ACL reserves priorities of streams, so a high priority has no effect. Freeing memory does not
 * wait for the device.
 */
final class CannRuntime implements DeviceRuntime {

    private final HcclLibraries libraries;
    private final AclLifetime lifetime;
    private final ThreadScratch scratch = new ThreadScratch();
    private final CurrentDevice current = new CurrentDevice();
    private final Events events;

    /** The sizes of page-locked host memory, by address. */
    private final ConcurrentSkipListMap<Long, Long> pageLocked = new ConcurrentSkipListMap<>();

    CannRuntime(HcclLibraries libraries) {
        this.libraries = libraries;
        this.lifetime = libraries.lifetime();
        this.events = new Events(scratch);
    }

    @Override
    public int deviceCount() {
        return libraries.deviceCount();
    }

    @Override
    public void setDevice(int device) {
        current.set(device);
    }

    /**
     * {@inheritDoc}
     *
     * <p>A stream drops the tasks that follow a failed task, so that no end event passes a failed
     * collective.
     */
    @Override
    public long createStream(boolean highPriority) {
        lifetime.hold();
        int code =
                Acl.aclrtCreateStreamWithConfig(
                        scratch.address(), 0, Acl.STREAM_FAST_LAUNCH | Acl.STREAM_FAST_SYNC);
        if (code != Acl.SUCCESS) {
            lifetime.release();
        }
        CannErrors.check(code, "aclrtCreateStreamWithConfig");
        long stream = scratch.getLong();
        CannErrors.check(
                Acl.aclrtSetStreamFailureMode(stream, Acl.STOP_ON_FAILURE),
                "aclrtSetStreamFailureMode");
        return stream;
    }

    @Override
    public void destroyStream(long stream) {
        CannErrors.check(Acl.aclrtDestroyStream(stream), "aclrtDestroyStream");
        lifetime.release();
    }

    @Override
    public boolean destroyStreamWaits() {
        return true;
    }

    @Override
    public boolean queryStream(long stream) {
        CannErrors.check(Acl.aclrtStreamQuery(stream, scratch.address()), "aclrtStreamQuery");
        return scratch.getInt() == Acl.STATUS_COMPLETE;
    }

    /**
     * {@inheritDoc}
     *
     * <p>Streams do by default. It is not known whether they report the failure before they are
     * idle.
     */
    @Override
    public boolean continuesAfterFailures() {
        return true;
    }

    /** {@inheritDoc} The state of an event after a failure is not documented. */
    @Override
    public void checkStream(long stream) {
        queryStream(stream);
    }

    @Override
    public void synchronizeStream(long stream) {
        CannErrors.check(Acl.aclrtSynchronizeStream(stream), "aclrtSynchronizeStream");
    }

    /** {@inheritDoc} An operation may stay on the stream until HCCL's own timeout is over. */
    @Override
    public boolean awaitStream(long stream, long millis) {
        int code = Acl.aclrtSynchronizeStreamWithTimeout(stream, (int) millis);
        if (code == Acl.STREAM_SYNC_TIMEOUT) {
            return false;
        }
        CannErrors.check(code, "aclrtSynchronizeStreamWithTimeout");
        return true;
    }

    @Override
    public long createEvent(boolean timing) {
        return events.create(timing);
    }

    @Override
    public void destroyEvent(long event) {
        events.destroy(event);
    }

    @Override
    public void recordEvent(long event, long stream) {
        events.record(event, stream);
    }

    @Override
    public void waitEvent(long stream, long event) {
        events.await(stream, event);
    }

    @Override
    public boolean queryEvent(long event) {
        return events.query(event);
    }

    @Override
    public void synchronizeEvent(long event) {
        events.synchronize(event);
    }

    @Override
    public boolean awaitEvent(long event, long millis) {
        return events.awaitFor(event, millis);
    }

    @Override
    public double elapsedMillis(long start, long end) {
        return events.elapsedMillis(start, end);
    }

    /**
     * {@inheritDoc}
     *
     * @throws OutOfMemoryError if the device has not enough memory left
     */
    @Override
    public long allocate(long bytes) {
        lifetime.hold();
        int code = Acl.aclrtMalloc(scratch.address(), bytes, Acl.HUGE_PAGES_FIRST);
        long address = code == Acl.SUCCESS ? scratch.getLong() : 0;
        if (address == 0) {
            lifetime.release();
        }
        if (CannErrors.isOutOfMemory(code)) {
            throw new OutOfMemoryError(
                    "aclrtMalloc of " + bytes + " bytes: " + CannErrors.text(code));
        }
        CannErrors.check(code, "aclrtMalloc");
        if (address == 0) {
            throw new OutOfMemoryError(
                    "aclrtMalloc of " + bytes + " bytes returned success and no memory");
        }
        return address;
    }

    @Override
    public void free(long address) {
        CannErrors.check(Acl.aclrtFree(address), "aclrtFree");
        lifetime.release();
    }

    @Override
    public long allocateHost(long bytes) {
        int code = Acl.aclrtMallocHost(scratch.address(), bytes);
        if (CannErrors.isOutOfMemory(code)) {
            return 0;
        }
        CannErrors.check(code, "aclrtMallocHost");
        long address = scratch.getLong();
        if (address != 0) {
            pageLocked.put(address, bytes);
        }
        return address;
    }

    @Override
    public void freeHost(long address) {
        pageLocked.remove(address);
        CannErrors.check(Acl.aclrtFreeHost(address), "aclrtFreeHost");
    }

    private boolean isPageLocked(long address, long bytes) {
        Map.Entry<Long, Long> block = pageLocked.floorEntry(address);
        return block != null && address + bytes <= block.getKey() + block.getValue();
    }

    /**
     * {@inheritDoc}
     *
     * <p>Copies from and to the host block, unless the memory comes from {@link #allocateHost}:
     * older CANN accepts no other host memory in asynchronous copies.
     */
    @Override
    public void copy(long to, long from, long bytes, Copy direction, long stream) {
        int kind =
                switch (direction) {
                    case HOST_TO_DEVICE -> Acl.HOST_TO_DEVICE;
                    case DEVICE_TO_HOST -> Acl.DEVICE_TO_HOST;
                    case DEVICE_TO_DEVICE -> Acl.DEVICE_TO_DEVICE;
                };
        if (direction == Copy.DEVICE_TO_DEVICE
                || isPageLocked(direction == Copy.HOST_TO_DEVICE ? from : to, bytes)) {
            CannErrors.check(
                    Acl.aclrtMemcpyAsync(to, bytes, from, bytes, kind, stream), "aclrtMemcpyAsync");
            return;
        }
        synchronizeStream(stream);
        CannErrors.check(Acl.aclrtMemcpy(to, bytes, from, bytes, kind), "aclrtMemcpy");
    }
}
