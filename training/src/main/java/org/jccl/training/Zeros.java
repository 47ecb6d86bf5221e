package org.jccl.training;

import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.Tensor;

/** Zeroes memory of a device in the order of the current stream, from a piece of zeros. */
final class Zeros implements AutoCloseable {

    private static final long COUNT = 1 << 16;

    private final Tensor zeros;

    Zeros(Device device, DataType type) {
        Tensor host = Tensor.allocate(Device.CPU, type, COUNT);
        if (device.isCpu()) {
            zeros = host;
        } else {
            try (host) {
                zeros = Tensor.allocate(device, type, host.count()).copyFrom(host);
            }
        }
    }

    void writeTo(Tensor tensor) {
        for (long at = 0; at < tensor.count(); at += zeros.count()) {
            long count = Math.min(zeros.count(), tensor.count() - at);
            tensor.slice(at, count).copyFrom(zeros.slice(0, count));
        }
    }

    @Override
    public void close() {
        zeros.close();
    }
}
