package org.jccl.nccl;

import org.jccl.BackendUnavailableException;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.NativeException;
import org.jccl.Tensor;
import org.jccl.UsageException;

/**
 * Allocates memory with ncclMemAlloc. NCCL needs such memory so that the network or the switch can
 * use a tensor without a copy.
 */
public final class NcclMemory {

    private NcclMemory() {}

    /**
     * Allocates a tensor in such memory, and registers it with the groups of the device whose
     * options have {@link NcclOptions.Registration#AUTOMATIC}. {@link
     * org.jccl.ProcessGroup#register} registers it with other groups. Operations copy unregistered
     * memory like any other memory. NCCL may register it when a CUDA graph captures an operation
     * (NCCL_GRAPH_REGISTER).
     *
     * @param device a CUDA device
     * @param dataType element type
     * @param count number of elements, at least 1
     * @return the tensor, which owns its memory until it is closed
     * @throws UsageException if an argument is out of range
     * @throws BackendUnavailableException if the libraries cannot be used
     * @throws NativeException if ncclMemAlloc fails
     * @throws OutOfMemoryError if it returns no memory
     */
    public static Tensor allocate(Device device, DataType dataType, long count) {
        if (device == null || dataType == null || !device.type().equals(NcclProvider.DEVICE_TYPE)) {
            throw usage("NCCL memory is on a CUDA device, got " + dataType + " on " + device);
        }
        if (count < 1 || count > Long.MAX_VALUE / dataType.size()) {
            throw usage("count must be between 1 and what fits in memory, got " + count);
        }
        new NcclProvider().requireAvailable();
        NcclLibraries libraries = NcclLibraries.get();
        if (device.index() >= libraries.deviceCount()) {
            throw usage("there is no " + device + "; this host has " + libraries.deviceCount());
        }
        if (!NcclNative.has("ncclMemAlloc")) {
            throw usage(
                    "ncclMemAlloc needs NCCL 2.19 or later, and this process has "
                            + NcclLibraries.versionText(libraries.version()));
        }
        CudaRuntime.enter(device.index());
        long address = NcclNative.memAlloc(count * dataType.size());
        if (address < 0) {
            throw NcclErrors.of((int) -address, "ncclMemAlloc", 0);
        }
        if (address == 0) {
            throw new OutOfMemoryError(
                    "ncclMemAlloc of "
                            + count * dataType.size()
                            + " bytes returned success and no memory");
        }
        var block = NcclRegistrations.add(address, count * dataType.size(), device.index());
        Tensor tensor =
                Tensor.adopt(
                        address, count, dataType, device, () -> NcclRegistrations.release(block));
        try {
            NcclRegistrations.registerWithAll(block);
        } catch (JcclException e) {
            tensor.close();
            throw e;
        }
        return tensor;
    }

    private static UsageException usage(String message) {
        return new UsageException(FailureContext.NONE, message);
    }
}
