package org.jccl;

import java.lang.reflect.Array;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.ShortBuffer;
import org.bytedeco.javacpp.Pointer;
import org.jccl.internal.DeviceMemory;
import org.jccl.internal.DeviceRuntimes;
import org.jccl.internal.Given;
import org.jccl.internal.HostMemory;
import org.jccl.internal.Memory;
import org.jccl.internal.Reaper;

/**
 * A typed, contiguous view of memory on a device: address, count, data type and what keeps the
 * memory alive. It has no shape; collectives need none.
 *
 * <p>A tensor made by {@code of...} borrows memory and keeps its owner reachable. One made by
 * {@link #allocate} owns its memory until {@link #close}. Closing while an operation uses the
 * memory is safe: it is freed when the operation is complete. Reading or writing the elements while
 * an operation uses them is a data race, as with any memory.
 *
 * <p>Safe for use by several threads, the elements themselves excepted.
 */
public final class Tensor implements AutoCloseable {

    private final Memory memory;
    private final long address;
    private final long count;
    private final DataType dataType;
    private final Device device;

    private Tensor(Memory memory, long address, long count, DataType dataType, Device device) {
        this.memory = memory;
        this.address = address;
        this.count = count;
        this.dataType = dataType;
        this.device = device;
    }

    /**
     * Borrows a direct buffer's remaining bytes.
     *
     * @param buffer direct, writable, from position to limit
     * @param dataType type of the elements in it
     * @return a tensor of {@code remaining / dataType.size()} elements
     * @throws UsageException when the buffer is null, on the heap, read-only, in foreign byte
     *     order, begins at an address that is no multiple of the element size, or its remaining
     *     bytes are no whole number of elements
     */
    public static Tensor of(ByteBuffer buffer, DataType dataType) {
        Given.notNull(dataType, "dataType");
        checkBuffer(buffer, buffer == null ? null : buffer.order(), dataType.size() > 1);
        if (buffer.remaining() % dataType.size() != 0) {
            throw usage(
                    "buffer has "
                            + buffer.remaining()
                            + " bytes, which is no whole number of "
                            + dataType
                            + " elements");
        }
        return borrow(buffer, buffer.remaining() / dataType.size(), dataType);
    }

    /**
     * Borrows a direct buffer's remaining elements as float32.
     *
     * @param buffer direct, writable, in native byte order
     * @return the tensor
     * @throws UsageException as {@link #of(ByteBuffer, DataType)}
     */
    public static Tensor of(FloatBuffer buffer) {
        checkBuffer(buffer, buffer == null ? null : buffer.order(), true);
        return borrow(buffer, buffer.remaining(), DataType.FLOAT32);
    }

    /**
     * Borrows a direct buffer's remaining elements as float64.
     *
     * @param buffer direct, writable, in native byte order
     * @return the tensor
     * @throws UsageException as {@link #of(ByteBuffer, DataType)}
     */
    public static Tensor of(DoubleBuffer buffer) {
        checkBuffer(buffer, buffer == null ? null : buffer.order(), true);
        return borrow(buffer, buffer.remaining(), DataType.FLOAT64);
    }

    /**
     * Borrows a direct buffer's remaining elements as int32.
     *
     * @param buffer direct, writable, in native byte order
     * @return the tensor
     * @throws UsageException as {@link #of(ByteBuffer, DataType)}
     */
    public static Tensor of(IntBuffer buffer) {
        checkBuffer(buffer, buffer == null ? null : buffer.order(), true);
        return borrow(buffer, buffer.remaining(), DataType.INT32);
    }

    /**
     * Borrows a direct buffer's remaining elements as int64.
     *
     * @param buffer direct, writable, in native byte order
     * @return the tensor
     * @throws UsageException as {@link #of(ByteBuffer, DataType)}
     */
    public static Tensor of(LongBuffer buffer) {
        checkBuffer(buffer, buffer == null ? null : buffer.order(), true);
        return borrow(buffer, buffer.remaining(), DataType.INT64);
    }

    /**
     * Borrows a direct buffer's remaining elements as int16.
     *
     * @param buffer direct, writable, in native byte order
     * @return the tensor
     * @throws UsageException as {@link #of(ByteBuffer, DataType)}
     */
    public static Tensor of(ShortBuffer buffer) {
        checkBuffer(buffer, buffer == null ? null : buffer.order(), true);
        return borrow(buffer, buffer.remaining(), DataType.INT16);
    }

    /**
     * Borrows memory by address. The caller answers for address, count and device being right; this
     * is the only factory that can not check them.
     *
     * @param address first byte, on {@code device}; may be 0 only when {@code count} is 0
     * @param count number of elements
     * @param dataType element type
     * @param device where the memory is
     * @param owner kept reachable as long as the tensor or an operation on it is; may be null when
     *     the memory outlives the program
     * @return the tensor
     * @throws UsageException when the address is 0, negative or no multiple of the element size,
     *     the count negative or more than fits behind the address, or something is null
     */
    public static Tensor of(
            long address, long count, DataType dataType, Device device, Object owner) {
        Given.notNull(dataType, "dataType");
        Given.notNull(device, "device");
        if (address < 0 || (address == 0 && count > 0)) {
            throw usage("address must be positive, got " + address);
        }
        // The end must be a number as well, by which tensors that overlap are found.
        if (count < 0 || count > (Long.MAX_VALUE - address) / dataType.size()) {
            throw usage("count must be between 0 and what fits in memory, got " + count);
        }
        checkAligned(address, count, dataType);
        return new Tensor(Memory.borrowed(owner), address, count, dataType, device);
    }

    /** Libraries read whole elements, some with instructions that end the process otherwise. */
    private static void checkAligned(long address, long count, DataType dataType) {
        if (count > 0 && address % dataType.size() != 0) {
            throw usage(
                    "address "
                            + address
                            + " is no multiple of the "
                            + dataType.size()
                            + " bytes of a "
                            + dataType
                            + " element; copy to memory that is aligned");
        }
    }

    /**
     * Takes over memory that a library allocated in its own way. The caller answers for address,
     * count and device being right.
     *
     * @param address first byte, on {@code device}
     * @param count number of elements
     * @param dataType element type
     * @param device where the memory is
     * @param release frees it; called once, when the tensor is closed and no operation uses it any
     *     more, by a thread that does nothing else, so that it may block; not called when the
     *     process ends before
     * @return the tensor, to be closed
     * @throws UsageException as {@link #of(long, long, DataType, Device, Object)}, also when the
     *     address is 0; {@code release} is not called then
     */
    public static Tensor adopt(
            long address, long count, DataType dataType, Device device, Runnable release) {
        Given.notNull(release, "release");
        if (address <= 0) {
            throw usage("address must be positive, got " + address);
        }
        Tensor borrowed = of(address, count, dataType, device, null);
        Reaper reaper = Reaper.of(device);
        return new Tensor(
                Memory.owned(() -> reaper.free(release), "tensor " + borrowed),
                address,
                count,
                dataType,
                device);
    }

    /**
     * Borrows a JavaCPP pointer's memory from its position to its limit.
     *
     * <p>The caller answers for the limit: JavaCPP copies it when one type of pointer is made from
     * another, though elements then have another size, as in {@code new FloatPointer(bytePointer)};
     * {@link Pointer#getPointer(Class)} corrects it. The memory must not be deallocated while the
     * tensor is in use.
     *
     * @param pointer not null, with a limit that was set or is known from how it was made
     * @param dataType type of the elements; that of a {@code FloatPointer}, {@code DoublePointer},
     *     {@code IntPointer}, {@code LongPointer}, {@code ShortPointer} (which also holds the bits
     *     of float16 and bfloat16), {@code BoolPointer} or {@code BooleanPointer}, and any for a
     *     {@code BytePointer} or a {@code Pointer} that is of no subclass
     * @param device where the memory is
     * @return the tensor; keeps the pointer reachable
     * @throws UsageException when something is null, the pointer is a null pointer (as after it was
     *     deallocated), has no limit, is of another class or for another type, begins at an address
     *     that is no multiple of the element size, or its size is no whole number of elements
     */
    @SuppressWarnings("exports") // Only those who have JavaCPP call it.
    public static Tensor ofPointer(Pointer pointer, DataType dataType, Device device) {
        Given.notNull(dataType, "dataType");
        Given.notNull(device, "device");
        Given.notNull(pointer, "pointer");
        return of(
                PointerRange.address(pointer),
                PointerRange.count(pointer, dataType),
                dataType,
                device,
                pointer);
    }

    /**
     * Allocates memory, zeroed on the CPU. Close the tensor to free it. Host memory of 1 MB and
     * more is in huge pages where a binding is present that can ask for them and the system has
     * some. The memory of a device is freed soon after, by another thread, since that may wait for
     * what runs there; where none is left, this waits for what is about to be freed.
     *
     * @param device where
     * @param dataType element type
     * @param count number of elements
     * @return the tensor, which owns its memory
     * @throws UsageException when the count is negative or too large, or something is null
     * @throws BackendUnavailableException when no binding here manages memory of that device
     * @throws OutOfMemoryError when the memory can not be had
     */
    public static Tensor allocate(Device device, DataType dataType, long count) {
        Given.notNull(device, "device");
        Given.notNull(dataType, "dataType");
        if (count < 0 || count > (Long.MAX_VALUE - 64) / dataType.size()) {
            throw usage("count must be between 0 and what fits in memory, got " + count);
        }
        long bytes = Math.max(1, count * dataType.size());
        String description = "tensor " + dataType + " x " + count + " on " + device;
        if (!device.isCpu()) {
            DeviceMemory memory = new DeviceMemory(DeviceRuntimes.of(device), device);
            long address = memory.allocate(bytes);
            Runnable release = () -> memory.free(address);
            return new Tensor(Memory.owned(release, description), address, count, dataType, device);
        }
        HostMemory.Allocation allocation = HostMemory.get().allocate(bytes);
        return new Tensor(
                Memory.owned(allocation.release(), description),
                allocation.address(),
                count,
                dataType,
                device);
    }

    /**
     * Allocates host memory and copies an array into it.
     *
     * @param values a {@code float[] double[] int[] long[] short[]} or {@code byte[]}
     * @return a tensor of the matching type that owns its memory
     * @throws UsageException when it is no such array
     */
    public static Tensor copyOf(Object values) {
        Given.notNull(values, "values");
        Tensor tensor = allocate(Device.CPU, arrayType(values), Array.getLength(values));
        tensor.copyFrom(values);
        return tensor;
    }

    private static Tensor borrow(Buffer buffer, long count, DataType dataType) {
        return of(HostMemory.get().address(buffer), count, dataType, Device.CPU, buffer);
    }

    private static void checkBuffer(Buffer buffer, ByteOrder order, boolean orderMatters) {
        Given.notNull(buffer, "buffer");
        if (!buffer.isDirect()) {
            throw usage(
                    "buffer is on the heap, where the garbage collector moves it; use"
                            + " ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder())");
        }
        if (buffer.isReadOnly()) {
            throw usage("buffer is read-only; collectives write to tensors");
        }
        if (orderMatters && order != ByteOrder.nativeOrder()) {
            throw usage(
                    "buffer is "
                            + order
                            + "; call order(ByteOrder.nativeOrder()) on it before making views");
        }
    }

    /**
     * Part of this tensor, sharing its memory and its lifetime: closing one view closes all.
     *
     * @param offset first element
     * @param length number of elements
     * @return the view
     * @throws UsageException when the range is not inside this tensor
     */
    public Tensor slice(long offset, long length) {
        if (offset < 0 || length < 0 || offset > count - length) {
            throw usage("slice of " + length + " elements at " + offset + " is not inside " + this);
        }
        return new Tensor(memory, address + offset * dataType.size(), length, dataType, device);
    }

    /**
     * Copies a whole array to the start of this tensor. On a device the copy is in the order of the
     * current stream and done on return.
     *
     * @param values an array whose element size is this tensor's: {@code short[]} holds the bits of
     *     float16 and bfloat16, {@code byte[]} those of bool, uint8 and float8
     * @return this tensor
     * @throws UsageException when the array does not fit, has another element size, or the tensor
     *     is closed
     */
    public Tensor copyFrom(Object values) {
        long bytes = checkArray(values);
        try {
            if (device.isCpu()) {
                HostMemory.get().copyFromArray(values, 0, address, bytes);
            } else if (bytes > 0) {
                DeviceCopies.fromArray(values, bytes, address, device);
            }
        } finally {
            memory.release();
        }
        return this;
    }

    /**
     * Copies the start of this tensor to a whole array. On a device the copy is in the order of the
     * current stream and done on return.
     *
     * @param <T> the array type
     * @param values an array as for {@link #copyFrom}
     * @return the array
     * @throws UsageException as {@link #copyFrom}
     * @throws JcclException on a device, as {@link Stream#synchronize} of the current stream does;
     *     the array is as it was
     */
    public <T> T copyTo(T values) {
        long bytes = checkArray(values);
        try {
            if (device.isCpu()) {
                HostMemory.get().copyToArray(address, values, 0, bytes);
            } else if (bytes > 0) {
                DeviceCopies.toArray(address, values, bytes, device);
            }
        } finally {
            memory.release();
        }
        return values;
    }

    /** Checks an array against this tensor, holds the memory, and returns the array's bytes. */
    private long checkArray(Object values) {
        Given.notNull(values, "values");
        DataType given = arrayType(values);
        boolean sameKind =
                given == dataType
                        || (given.isInteger()
                                && given.size() == dataType.size()
                                && dataType.size() < 4);
        if (!sameKind) {
            throw usage(
                    values.getClass().getSimpleName()
                            + " holds no elements of "
                            + this
                            + "; use the array of "
                            + dataType.size()
                            + "-byte elements that matches it");
        }
        long length = Array.getLength(values);
        if (length > count) {
            throw usage("an array of " + length + " elements is larger than " + this);
        }
        if (!memory.acquire()) {
            throw usage(this + " is closed");
        }
        return length * dataType.size();
    }

    private static DataType arrayType(Object values) {
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
        throw usage(
                "expected an array of float, double, int, long, short or byte, got "
                        + values.getClass().getTypeName());
    }

    /**
     * Address of the first element.
     *
     * @return the address on {@link #device()}
     */
    public long address() {
        return address;
    }

    /**
     * Number of elements.
     *
     * @return not negative
     */
    public long count() {
        return count;
    }

    /**
     * Size in bytes.
     *
     * @return count times element size
     */
    public long byteSize() {
        return count * dataType.size();
    }

    /**
     * Element type.
     *
     * @return the type
     */
    public DataType dataType() {
        return dataType;
    }

    /**
     * Where the memory is.
     *
     * @return the device
     */
    public Device device() {
        return device;
    }

    /** The memory's lifetime, for operations to hold. */
    Memory memory() {
        return memory;
    }

    /**
     * Frees owned memory as soon as no operation uses it, and makes further use an error.
     * Idempotent, and never blocks. On a slice it closes the memory for all views of it.
     */
    @Override
    public void close() {
        memory.close();
    }

    /** For instance {@code float32 x 4 on cpu}. */
    @Override
    public String toString() {
        return dataType + " x " + count + " on " + device;
    }

    private static UsageException usage(String message) {
        return new UsageException(FailureContext.NONE, message);
    }
}
