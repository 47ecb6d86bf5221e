package org.jccl.internal.tensor;

import java.lang.reflect.Array;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.ShortBuffer;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.jccl.internal.backend.DeviceRuntimes;
import org.jccl.internal.checks.Require;
import org.jccl.internal.memory.DeviceMemory;
import org.jccl.internal.memory.HostMemory;
import org.jccl.internal.memory.Memory;
import org.jccl.internal.memory.Reaper;

/**
 * Creates tensors of borrowed or allocated memory, after checks. Arguments and exceptions are those
 * of the static methods of {@link Tensor}.
 */
public final class TensorFactory {

    private TensorFactory() {}

    /**
     * Borrows the remaining elements of a direct buffer.
     *
     * @param buffer a buffer of bytes, or of elements as large as the type
     */
    public static NativeTensor borrow(Buffer buffer, DataType dataType) {
        Require.nonNull(dataType, "dataType");
        checkBuffer(buffer, dataType.size() > 1);
        int count = buffer.remaining();
        if (buffer instanceof ByteBuffer) {
            if (count % dataType.size() != 0) {
                throw usage(
                        "buffer has %s bytes, which is not a whole number of %s elements"
                                .formatted(count, dataType));
            }
            count /= dataType.size();
        }
        return borrow(HostMemory.get().address(buffer), count, dataType, Device.CPU, buffer);
    }

    /** Borrows a segment of {@code java.lang.foreign}. */
    public static NativeTensor borrowSegment(Object segment, DataType dataType) {
        Require.nonNull(dataType, "dataType");
        HostMemory.Segment memory = HostMemory.get().segment(segment);
        long bytes = memory.bytes();
        if (bytes % dataType.size() != 0) {
            throw usage(
                    "segment has %s bytes, which is not a whole number of %s elements"
                            .formatted(bytes, dataType));
        }
        long count = bytes / dataType.size();
        checkAligned(memory.address(), count, dataType);
        return new NativeTensor(
                Memory.borrowed(segment, memory.alive()),
                memory.address(),
                count,
                dataType,
                Device.CPU,
                null);
    }

    /** Borrows memory by address. */
    public static NativeTensor borrow(
            long address, long count, DataType dataType, Device device, Object owner) {
        Require.nonNull(dataType, "dataType");
        Require.nonNull(device, "device");
        if (address < 0 || (address == 0 && count > 0)) {
            throw usage("address must be positive, got " + address);
        }
        // The end of the memory must not overflow, because overlaps are found by it.
        if (count < 0 || count > (Long.MAX_VALUE - address) / dataType.size()) {
            throw usage("count must be between 0 and what fits in memory, got " + count);
        }
        checkAligned(address, count, dataType);
        return new NativeTensor(Memory.borrowed(owner), address, count, dataType, device, null);
    }

    /** Takes ownership of memory. */
    public static NativeTensor adopt(
            long address, long count, DataType dataType, Device device, Runnable release) {
        Require.nonNull(release, "release");
        if (address <= 0) {
            throw usage("address must be positive, got " + address);
        }
        NativeTensor borrowed = borrow(address, count, dataType, device, null);
        Reaper reaper = Reaper.of(device);
        StreamUses uses = new StreamUses();
        Runnable later =
                () -> {
                    uses.await();
                    release.run();
                };
        return new NativeTensor(
                Memory.owned(() -> reaper.free(later), "tensor " + borrowed),
                address,
                count,
                dataType,
                device,
                uses);
    }

    /** Allocates memory. */
    public static NativeTensor allocate(Device device, DataType dataType, long count) {
        Require.nonNull(device, "device");
        Require.nonNull(dataType, "dataType");
        if (count < 0 || count > (Long.MAX_VALUE - 64) / dataType.size()) {
            throw usage("count must be between 0 and what fits in memory, got " + count);
        }
        long bytes = Math.max(1, count * dataType.size());
        String description = "tensor " + dataType + " x " + count + " on " + device;
        if (!device.isCpu()) {
            DeviceMemory memory = new DeviceMemory(DeviceRuntimes.of(device), device);
            long address = memory.allocate(bytes);
            StreamUses uses = new StreamUses();
            Runnable release = () -> memory.free(address, uses::await);
            return new NativeTensor(
                    Memory.owned(release, description), address, count, dataType, device, uses);
        }
        HostMemory.Allocation allocation = HostMemory.get().allocate(bytes);
        return new NativeTensor(
                Memory.owned(allocation.release(), description),
                allocation.address(),
                count,
                dataType,
                device,
                null);
    }

    /** Allocates host memory and copies an array into it. */
    public static NativeTensor copyOf(Object values) {
        Require.nonNull(values, "values");
        NativeTensor tensor = allocate(Device.CPU, arrayType(values), Array.getLength(values));
        tensor.copyFrom(values);
        return tensor;
    }

    private static void checkBuffer(Buffer buffer, boolean orderMatters) {
        Require.nonNull(buffer, "buffer");
        if (!buffer.isDirect()) {
            throw usage(
                    "buffer is on the heap, where the garbage collector moves it; use"
                            + " ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder())");
        }
        if (buffer.isReadOnly()) {
            throw usage("buffer is read-only; collectives write to tensors");
        }
        ByteOrder order = order(buffer);
        if (orderMatters && order != ByteOrder.nativeOrder()) {
            throw usage(
                    "buffer is %s; call order(ByteOrder.nativeOrder()) on it before making views"
                            .formatted(order));
        }
    }

    private static ByteOrder order(Buffer buffer) {
        if (buffer instanceof ByteBuffer bytes) {
            return bytes.order();
        }
        if (buffer instanceof FloatBuffer floats) {
            return floats.order();
        }
        if (buffer instanceof DoubleBuffer doubles) {
            return doubles.order();
        }
        if (buffer instanceof IntBuffer ints) {
            return ints.order();
        }
        if (buffer instanceof LongBuffer longs) {
            return longs.order();
        }
        return ((ShortBuffer) buffer).order();
    }

    /**
     * Libraries access whole elements, some with instructions that end the process if the address
     * is not aligned.
     */
    private static void checkAligned(long address, long count, DataType dataType) {
        if (count > 0 && address % dataType.size() != 0) {
            throw usage(
                    "address %s is not a multiple of the %s bytes of a %s element; copy to aligned memory"
                            .formatted(address, dataType.size(), dataType));
        }
    }

    static DataType arrayType(Object values) {
        if (values instanceof float[]) {
            return DataType.FLOAT32;
        }
        if (values instanceof double[]) {
            return DataType.FLOAT64;
        }
        if (values instanceof int[]) {
            return DataType.INT32;
        }
        if (values instanceof long[]) {
            return DataType.INT64;
        }
        if (values instanceof short[]) {
            return DataType.INT16;
        }
        if (values instanceof byte[]) {
            return DataType.INT8;
        }
        if (values instanceof boolean[]) {
            return DataType.BOOL;
        }
        if (values instanceof char[]) {
            return DataType.INT16;
        }
        throw usage(
                "expected an array of float, double, int, long, short, byte, boolean or char, got "
                        + values.getClass().getTypeName());
    }

    private static UsageException usage(String message) {
        return new UsageException(FailureContext.NONE, message);
    }
}
