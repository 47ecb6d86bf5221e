package org.jccl.hccl;

import java.time.Duration;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.conformance.Capability;
import org.jccl.conformance.ConformanceBackend;
import org.jccl.store.Store;

/** HCCL as the conformance suite sees it, a device a rank. */
final class DeviceBackend implements ConformanceBackend {

    private final ThreadLocal<Device> mine = new InheritableThreadLocal<>();

    @Override
    public ProcessGroup join(Store store, int rank, int size, Duration timeout) {
        mine.set(World.npu(rank));
        return World.join(store, rank, size, timeout, HcclOptions.defaults());
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
        return HcclProvider.DEVICE_TYPE;
    }

    @Override
    public boolean reduces(ReduceOp op, DataType type) {
        return HcclTypes.reduces(CannLibraries.get().chip(), op, type, true);
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
