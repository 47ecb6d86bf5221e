package org.jccl.nccl;

import org.bytedeco.cuda.global.nccl;
import org.jccl.BackendUnavailableException;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.NativeException;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.jccl.nccl.NativeHandles.Address;

/** Memory that NCCL can register with the network and the switch, from ncclMemAlloc. */
public final class NcclMemory {

    private NcclMemory() {}

    /**
     * Allocates a tensor in such memory. It is used like any other; NCCL saves a copy where it can.
     *
     * @param device a CUDA device
     * @param dataType element type
     * @param count number of elements, at least 1
     * @return the tensor, which owns its memory until it is closed
     * @throws UsageException when an argument is out of range, or the loaded NCCL is older than
     *     2.19
     * @throws BackendUnavailableException when the libraries can not be used
     * @throws NativeException when ncclMemAlloc fails
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
        if (!NcclLibraries.has("ncclMemAlloc")) {
            throw usage(
                    "ncclMemAlloc came with NCCL 2.19, the loaded one is "
                            + NcclLibraries.versionText(libraries.version()));
        }
        Address memory = new Address();
        CudaRuntime.enter(device.index());
        NcclErrors.check(nccl.ncclMemAlloc(memory, count * dataType.size()), "ncclMemAlloc");
        long address = memory.address();
        return Tensor.adopt(address, count, dataType, device, () -> free(address, device));
    }

    private static void free(long address, Device device) {
        CudaRuntime.enter(device.index());
        NcclErrors.check(nccl.ncclMemFree(new Address().at(address)), "ncclMemFree");
    }

    private static UsageException usage(String message) {
        return new UsageException(FailureContext.NONE, message);
    }
}
