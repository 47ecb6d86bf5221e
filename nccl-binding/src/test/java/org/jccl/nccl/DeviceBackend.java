package org.jccl.nccl;

import java.time.Duration;
import java.util.function.IntFunction;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.conformance.Capability;
import org.jccl.conformance.ConformanceBackend;
import org.jccl.store.Store;

/** NCCL as the conformance suite sees it. */
class DeviceBackend implements ConformanceBackend {

    private final ThreadLocal<Device> mine = new InheritableThreadLocal<>();
    private final IntFunction<Device> deviceOfRank;

    /**
     * Creates the backend.
     *
     * @param deviceOfRank which device each rank uses
     */
    DeviceBackend(IntFunction<Device> deviceOfRank) {
        this.deviceOfRank = deviceOfRank;
    }

    @Override
    public ProcessGroup join(Store store, int rank, int size, Duration timeout) {
        Device device = deviceOfRank.apply(rank);
        mine.set(device);
        return ProcessGroup.builder()
                .backend("nccl")
                .store(store)
                .rank(rank)
                .worldSize(size)
                .device(device)
                .timeout(timeout)
                .build();
    }

    @Override
    public boolean has(Capability capability) {
        return switch (capability) {
            case TAGS, ANY_SOURCE, ANY_ORDER, BLOCKING_CALLS, COMPARED_CALLS -> false;
            case STUCK_MISMATCHES -> true;
        };
    }

    @Override
    public String deviceType() {
        return NcclProvider.DEVICE_TYPE;
    }

    @Override
    public boolean reduces(ReduceOp op, DataType type) {
        return op.supports(type) && NcclTypes.reduces(op, type, false);
    }

    /** 8-bit floats depend on the device, so they are neither required nor forbidden. */
    @Override
    public boolean refuses(ReduceOp op, DataType type) {
        return !op.supports(type) || !NcclTypes.reduces(op, type, true);
    }

    @Override
    public Tensor allocate(DataType type, int count) {
        return Tensor.allocate(mine.get(), type, count);
    }

    @Override
    public void write(Tensor tensor, byte[] elements) {
        bytes(tensor).copyFrom(elements);
    }

    @Override
    public byte[] read(Tensor tensor) {
        return bytes(tensor).copyTo(new byte[Math.toIntExact(tensor.byteSize())]);
    }

    private static Tensor bytes(Tensor tensor) {
        return Tensor.of(
                tensor.address(), tensor.byteSize(), DataType.UINT8, tensor.device(), tensor);
    }
}
