package org.jccl;

import java.nio.ByteBuffer;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.ShortBuffer;
import org.bytedeco.javacpp.Pointer;

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
 *
 * <p>Programs do not implement this interface: groups refuse tensors that were not made by its
 * static methods with a {@link UsageException}, and later versions may add methods.
 */
public interface Tensor extends AutoCloseable {

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
    static Tensor of(ByteBuffer buffer, DataType dataType) {
        return Implementation.get().borrowTensor(buffer, dataType);
    }

    /**
     * Borrows a direct buffer's remaining elements as float32.
     *
     * @param buffer direct, writable, in native byte order
     * @return the tensor
     * @throws UsageException as {@link #of(ByteBuffer, DataType)}
     */
    static Tensor of(FloatBuffer buffer) {
        return Implementation.get().borrowTensor(buffer, DataType.FLOAT32);
    }

    /**
     * Borrows a direct buffer's remaining elements as float64.
     *
     * @param buffer direct, writable, in native byte order
     * @return the tensor
     * @throws UsageException as {@link #of(ByteBuffer, DataType)}
     */
    static Tensor of(DoubleBuffer buffer) {
        return Implementation.get().borrowTensor(buffer, DataType.FLOAT64);
    }

    /**
     * Borrows a direct buffer's remaining elements as int32.
     *
     * @param buffer direct, writable, in native byte order
     * @return the tensor
     * @throws UsageException as {@link #of(ByteBuffer, DataType)}
     */
    static Tensor of(IntBuffer buffer) {
        return Implementation.get().borrowTensor(buffer, DataType.INT32);
    }

    /**
     * Borrows a direct buffer's remaining elements as int64.
     *
     * @param buffer direct, writable, in native byte order
     * @return the tensor
     * @throws UsageException as {@link #of(ByteBuffer, DataType)}
     */
    static Tensor of(LongBuffer buffer) {
        return Implementation.get().borrowTensor(buffer, DataType.INT64);
    }

    /**
     * Borrows a direct buffer's remaining elements as int16.
     *
     * @param buffer direct, writable, in native byte order
     * @return the tensor
     * @throws UsageException as {@link #of(ByteBuffer, DataType)}
     */
    static Tensor of(ShortBuffer buffer) {
        return Implementation.get().borrowTensor(buffer, DataType.INT16);
    }

    /**
     * Borrows memory by address. The caller answers for address, count and device being right; this
     * is the only factory that can not check them.
     *
     * <p>A {@code java.lang.foreign.MemorySegment} of at most 2 GiB is better given as {@code
     * of(segment.asByteBuffer().order(ByteOrder.nativeOrder()), dataType)}, which refuses segments
     * on the heap and read-only ones. A larger one goes by {@code segment.address()}, with the
     * segment as owner, and only where {@code segment.isNative()}: the address of a segment on the
     * heap is none. An arena must not be closed while a tensor of its memory is in use.
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
    static Tensor of(long address, long count, DataType dataType, Device device, Object owner) {
        return Implementation.get().borrowTensor(address, count, dataType, device, owner);
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
     *     process ends before. Where the device's own free waits for what is under way there, a
     *     {@link #copyFrom(Tensor)} may be
     * @return the tensor, to be closed
     * @throws UsageException as {@link #of(long, long, DataType, Device, Object)}, also when the
     *     address is 0; {@code release} is not called then
     */
    static Tensor adopt(
            long address, long count, DataType dataType, Device device, Runnable release) {
        return Implementation.get().adoptTensor(address, count, dataType, device, release);
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
    static Tensor ofPointer(Pointer pointer, DataType dataType, Device device) {
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
    static Tensor allocate(Device device, DataType dataType, long count) {
        return Implementation.get().allocateTensor(device, dataType, count);
    }

    /**
     * Allocates host memory and copies an array into it.
     *
     * @param values a {@code float[] double[] int[] long[] short[]} or {@code byte[]}
     * @return a tensor of the matching type that owns its memory
     * @throws UsageException when it is no such array
     */
    static Tensor copyOf(Object values) {
        return Implementation.get().copyToTensor(values);
    }

    /**
     * Part of this tensor, sharing its memory and its lifetime: closing one view closes all.
     *
     * @param offset first element
     * @param length number of elements
     * @return the view
     * @throws UsageException when the range is not inside this tensor
     */
    Tensor slice(long offset, long length);

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
    Tensor copyFrom(Object values);

    /**
     * Copies a whole tensor to the start of this one. Where both are on one device the copy is
     * enqueued on the calling thread's current stream and the host goes on. Tensors that own their
     * memory may be closed then: it is freed once the stream has passed the copy. Borrowed memory
     * must stay as it is until then, as with a kernel of the caller's own, and so must any where
     * the current stream is another library's and its {@link Stream} is closed before the tensor.
     * Where one or both are on the CPU the copy is done on return, in the order of the current
     * stream of the other's device.
     *
     * @param source of this tensor's type, with at most as many elements; not overlapping it on a
     *     device
     * @return this tensor
     * @throws UsageException when the source is null, of another type, too large, or on another
     *     accelerator, or one of them is closed
     * @throws JcclException from a device to the CPU, as {@link Stream#synchronize} of the current
     *     stream does; what this tensor holds then means nothing
     */
    Tensor copyFrom(Tensor source);

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
    <T> T copyTo(T values);

    /**
     * Address of the first element.
     *
     * @return the address on {@link #device()}
     */
    long address();

    /**
     * Number of elements.
     *
     * @return not negative
     */
    long count();

    /**
     * Size in bytes.
     *
     * @return count times element size
     */
    long byteSize();

    /**
     * Element type.
     *
     * @return the type
     */
    DataType dataType();

    /**
     * Where the memory is.
     *
     * @return the device
     */
    Device device();

    /**
     * Frees owned memory as soon as no operation uses it, and makes further use an error.
     * Idempotent, and never blocks. On a slice it closes the memory for all views of it.
     */
    @Override
    void close();

    /** For instance {@code float32 x 4 on cpu}. */
    @Override
    String toString();
}
