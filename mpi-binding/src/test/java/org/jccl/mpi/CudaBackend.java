package org.jccl.mpi;

import java.time.Duration;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Store;
import org.jccl.Tensor;
import org.jccl.conformance.Capability;
import org.jccl.conformance.ConformanceBackend;
import org.jccl.conformance.Ranks;

/** MPI on the memory of a device, as the conformance suite sees it. */
record CudaBackend(MpiOptions options, Device device, Ranks ranks) implements ConformanceBackend {

    @Override
    public boolean has(Capability capability) {
        return capability != Capability.SURVIVORS
                && (capability != Capability.ENDING_CALLS || options.checks());
    }

    @Override
    public ProcessGroup join(Store store, int rank, int size, Duration timeout) {
        return ProcessRanks.world(options, store, rank, size, timeout).device(device).build();
    }

    @Override
    public String deviceType() {
        return device.type();
    }

    /** What MPI itself has; the rest would be done by the host. */
    @Override
    public boolean reduces(ReduceOp op, DataType type) {
        boolean number = type == DataType.FLOAT32 || type == DataType.FLOAT64 || type.isInteger();
        boolean small = type.isInteger() && type.size() < 4;
        return switch (op.kind()) {
            case SUM -> number && !small;
            case AVG, PREMUL_SUM -> false;
            case MIN, MAX -> type.isInteger() && type != DataType.UINT8;
            default -> number && op.supports(type);
        };
    }

    @Override
    public Tensor allocate(DataType type, int count) {
        return Tensor.allocate(device, type, count);
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
