package org.jccl.internal.backend;

import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jccl.BackendUnavailableException;
import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.UsageException;
import org.jccl.spi.BackendProvider;
import org.jccl.spi.DeviceRuntime;

/** Finds the runtime that drives a device, and makes the device current. */
public final class DeviceRuntimes {

    /** A runtime is a view of a vendor library that is loaded once for the whole process. */
    private static final Map<String, DeviceRuntime> BY_TYPE = new ConcurrentHashMap<>();

    private DeviceRuntimes() {}

    /**
     * Returns the runtime of a device, and makes the device current on the calling thread.
     *
     * @throws UsageException if the device is the CPU or does not exist, or the calling thread is
     *     virtual
     * @throws BackendUnavailableException if no binding drives such devices
     */
    public static DeviceRuntime of(Device device) {
        if (device == null || device.isCpu()) {
            throw new UsageException(
                    FailureContext.NONE,
                    "there are no streams, events or device memory on " + device);
        }
        DeviceRuntime runtime = ofType(device.type());
        enter(runtime, device);
        return runtime;
    }

    /**
     * Returns the number of devices that this process sees.
     *
     * @throws BackendUnavailableException if no binding drives such devices
     */
    public static int count(String type) {
        return ofType(type).deviceCount();
    }

    private static DeviceRuntime ofType(String type) {
        return BY_TYPE.computeIfAbsent(type, each -> find(Backends.present(), each));
    }

    private static DeviceRuntime find(List<BackendProvider> present, String type) {
        for (BackendProvider provider : present) {
            if (provider.deviceTypes().contains(type)) {
                provider.requireAvailable();
                return provider.deviceRuntime(type);
            }
        }
        throw new BackendUnavailableException(
                FailureContext.NONE,
                "no binding on the class path drives devices of type '" + type + "'");
    }

    /**
     * Makes a device current on the calling thread.
     *
     * @throws UsageException if the device does not exist or the calling thread is virtual
     */
    public static void enter(DeviceRuntime runtime, Device device) {
        if (VirtualThreads.isCurrent()) {
            throw new UsageException(
                    FailureContext.NONE,
                    "device calls need a platform thread: the current device belongs to the operating"
                            + " system's thread, which a virtual thread can change at any time");
        }
        if (device.index() >= runtime.deviceCount()) {
            throw new UsageException(
                    FailureContext.NONE,
                    "there is no " + device + "; this host has " + runtime.deviceCount());
        }
        runtime.setDevice(device.index());
    }

    /**
     * Makes a device current for a query, which some vendors answer on any thread and others only
     * on a thread with a device. Does nothing on virtual threads.
     */
    public static void setDeviceForQuery(DeviceRuntime runtime, Device device) {
        if (!VirtualThreads.isCurrent()) {
            runtime.setDevice(device.index());
        }
    }
}
