package org.jccl.internal.api;

import java.nio.Buffer;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.Event;
import org.jccl.JcclProvider;
import org.jccl.ProcessGroupBuilder;
import org.jccl.Stream;
import org.jccl.Tensor;
import org.jccl.internal.device.NativeEvent;
import org.jccl.internal.device.NativeStream;
import org.jccl.internal.tensor.TensorFactory;
import org.jccl.internal.torch.TorchKeys;

/**
 * Creates what the static methods of {@code org.jccl} return, and connects the parts of this
 * module. Found as a service.
 */
public final class DefaultProvider implements JcclProvider {

    /** Called by the service loader. */
    public DefaultProvider() {}

    @Override
    public ProcessGroupBuilder processGroupBuilder() {
        return new DefaultProcessGroupBuilder(TorchKeys::join);
    }

    @Override
    public Tensor borrowTensor(Buffer buffer, DataType dataType) {
        return TensorFactory.borrow(buffer, dataType);
    }

    @Override
    public Tensor borrowSegment(Object segment, DataType dataType) {
        return TensorFactory.borrowSegment(segment, dataType);
    }

    @Override
    public Tensor borrowTensor(
            long address, long count, DataType dataType, Device device, Object owner) {
        return TensorFactory.borrow(address, count, dataType, device, owner);
    }

    @Override
    public Tensor adoptTensor(
            long address, long count, DataType dataType, Device device, Runnable release) {
        return TensorFactory.adopt(address, count, dataType, device, release);
    }

    @Override
    public Tensor allocateTensor(Device device, DataType dataType, long count) {
        return TensorFactory.allocate(device, dataType, count);
    }

    @Override
    public Tensor copyToTensor(Object values) {
        return TensorFactory.copyOf(values);
    }

    @Override
    public Stream createStream(Device device, boolean highPriority) {
        return NativeStream.create(device, highPriority);
    }

    @Override
    public Stream wrapStream(Device device, long handle, Object owner) {
        return NativeStream.ofHandle(device, handle, owner);
    }

    @Override
    public Stream currentStream(Device device) {
        return NativeStream.current(device);
    }

    @Override
    public Event createEvent(Device device, boolean timing) {
        return NativeEvent.create(device, timing);
    }

    @Override
    public Event wrapEvent(Device device, long handle, Object owner) {
        return NativeEvent.ofHandle(device, handle, owner);
    }
}
