package org.jccl.sccl;

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

/** SCCL as the conformance suite sees it. */
final class DeviceBackend implements ConformanceBackend {

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
                .backend("sccl")
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
            case TAGS, ANY_SOURCE, ANY_ORDER, BLOCKING_CALLS, COMPARED_CALLS, STUCK_MISMATCHES ->
                    false;
        };
    }

    @Override
    public String deviceType() {
        return ScclProvider.DEVICE_TYPE;
    }

    @Override
    public boolean reduces(ReduceOp op, DataType type) {
        return op.supports(type) && ScclTypes.reduces(op, type);
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
