package org.jccl.training;

import java.util.EnumMap;
import java.util.Map;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.Tensor;

/** Zeroes device memory on the current stream, by copies from one block of zeros per type. */
final class Zeros implements AutoCloseable {

    private static final long COUNT = 1 << 16;

    private final Device device;
    private final Map<DataType, Tensor> pieces = new EnumMap<>(DataType.class);

    Zeros(Device device) {
        this.device = device;
    }

    private Tensor allocate(DataType type) {
        Tensor host = Tensor.allocate(Device.CPU, type, COUNT);
        if (device.isCpu()) {
            return host;
        }
        try (host) {
            return Tensor.allocate(device, type, host.count()).copyFrom(host);
        }
    }

    void writeTo(Tensor tensor) {
        Tensor zeros = pieces.computeIfAbsent(tensor.dataType(), this::allocate);
        for (long at = 0; at < tensor.count(); at += zeros.count()) {
            long count = Math.min(zeros.count(), tensor.count() - at);
            tensor.slice(at, count).copyFrom(zeros.slice(0, count));
        }
    }

    @Override
    public void close() {
        pieces.values().forEach(Tensor::close);
    }
}
