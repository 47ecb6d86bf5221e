package org.jccl;

import java.nio.ByteBuffer;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.ShortBuffer;
import org.bytedeco.javacpp.Pointer;

/**
 * A typed, contiguous view of memory on a device: address, count, data type, and an owner that
 * keeps the memory alive. It has no shape; collectives need none.
 *
 * <p>A tensor from an {@code of...} method borrows memory and keeps its owner reachable. A tensor
 * from {@link #allocate} owns its memory until {@link #close}. It may be closed while an operation
 * uses the memory, which is freed when the operation is complete. Accessing the elements while an
 * operation uses them is a data race.
 *
 * <p>Thread-safe, except for the elements themselves.
 *
 * <p>Programs must not implement this interface: groups throw a {@link UsageException} for tensors
 * that were not created by its static methods, and later versions may add methods.
 */
public interface Tensor extends AutoCloseable {

    /**
     * Borrows the remaining bytes of a direct buffer.
     *
     * @param buffer direct, writable, from position to limit
     * @param dataType the type of its elements
     * @return a tensor of {@code remaining / dataType.size()} elements
     * @throws UsageException if the buffer is null, on the heap, read-only or not in native byte
     *     order, its address is not a multiple of the element size, or its remaining bytes are not
     *     a whole number of elements
     */
    static Tensor of(ByteBuffer buffer, DataType dataType) {
        return Implementation.get().borrowTensor(buffer, dataType);
    }

    /**
     * Borrows the remaining elements of a direct buffer as float32.
     *
     * @param buffer direct, writable, in native byte order
     * @return the tensor
     * @throws UsageException under the conditions of {@link #of(ByteBuffer, DataType)}
     */
    static Tensor of(FloatBuffer buffer) {
        return Implementation.get().borrowTensor(buffer, DataType.FLOAT32);
    }

    /**
     * Borrows the remaining elements of a direct buffer as float64.
     *
     * @param buffer direct, writable, in native byte order
     * @return the tensor
     * @throws UsageException under the conditions of {@link #of(ByteBuffer, DataType)}
     */
    static Tensor of(DoubleBuffer buffer) {
        return Implementation.get().borrowTensor(buffer, DataType.FLOAT64);
    }

    /**
     * Borrows the remaining elements of a direct buffer as int32.
     *
     * @param buffer direct, writable, in native byte order
     * @return the tensor
     * @throws UsageException under the conditions of {@link #of(ByteBuffer, DataType)}
     */
    static Tensor of(IntBuffer buffer) {
        return Implementation.get().borrowTensor(buffer, DataType.INT32);
    }

    /**
     * Borrows the remaining elements of a direct buffer as int64.
     *
     * @param buffer direct, writable, in native byte order
     * @return the tensor
     * @throws UsageException under the conditions of {@link #of(ByteBuffer, DataType)}
     */
    static Tensor of(LongBuffer buffer) {
        return Implementation.get().borrowTensor(buffer, DataType.INT64);
    }

    /**
     * Borrows the remaining elements of a direct buffer as int16.
     *
     * @param buffer direct, writable, in native byte order
     * @return the tensor
     * @throws UsageException under the conditions of {@link #of(ByteBuffer, DataType)}
     */
    static Tensor of(ShortBuffer buffer) {
        return Implementation.get().borrowTensor(buffer, DataType.INT16);
    }

    /**
     * Borrows memory by address. The caller must ensure that address, count and device are correct,
     * because they cannot be checked.
     *
     * @param address the first byte, on {@code device}; may be 0 only if {@code count} is 0
     * @param count number of elements
     * @param dataType element type
     * @param device where the memory is
     * @param owner kept reachable as long as the tensor or an operation on it is; may be null if
     *     the memory is never freed
     * @return the tensor
     * @throws UsageException if the address is 0, negative or not a multiple of the element size,
     *     the count is negative or too large for the address, or the type or device is null
     */
    static Tensor of(long address, long count, DataType dataType, Device device, Object owner) {
        return Implementation.get().borrowTensor(address, count, dataType, device, owner);
    }

    /**
     * Borrows a segment of {@code java.lang.foreign}, from Java 22 on. Operations on a tensor whose
     * arena was closed throw a {@link UsageException}, as if the tensor was closed.
     *
     * <p>JCCL cannot keep an arena open. The program must not close a shared arena while an
     * operation uses its memory, because the library would access freed memory. A confined arena
     * cannot be closed while its owner is in a synchronous call. Automatic and global arenas are
     * never closed; the tensor keeps them reachable.
     *
     * @param segment a {@code java.lang.foreign.MemorySegment} of any size; declared as {@code
     *     Object} because JCCL also runs on Java 17. Its elements are in native byte order
     * @param dataType the type of its elements
     * @return a tensor of {@code byteSize() / dataType.size()} elements
     * @throws UsageException if an argument is null, the object is not a segment, this Java is
     *     older than 22, the segment is on the heap, read-only or closed, its address is not a
     *     multiple of the element size, or its bytes are not a whole number of elements
     */
    static Tensor ofSegment(Object segment, DataType dataType) {
        return Implementation.get().borrowSegment(segment, dataType);
    }

    /**
     * Takes ownership of memory that another library allocated. The caller must ensure that
     * address, count and device are correct.
     *
     * @param address the first byte, on {@code device}
     * @param count number of elements
     * @param dataType element type
     * @param device where the memory is
     * @param release frees the memory. Called once, after the tensor was closed and the last
     *     operation on it is complete. It runs on a separate thread, so it may block. Not called if
     *     the process ends earlier. A {@link #copyFrom(Tensor)} may still be in flight if the free
     *     function of the device waits for it
     * @return the tensor, which the caller closes
     * @throws UsageException under the conditions of {@link #of(long, long, DataType, Device,
     *     Object)}, and if the address is 0; {@code release} is then not called
     */
    static Tensor adopt(
            long address, long count, DataType dataType, Device device, Runnable release) {
        return Implementation.get().adoptTensor(address, count, dataType, device, release);
    }

    /**
     * Borrows the memory of a JavaCPP pointer from its position to its limit.
     *
     * <p>The caller must ensure that the limit is correct. JavaCPP copies the limit unchanged when
     * a pointer is created from one with another element size, as in {@code new
     * FloatPointer(bytePointer)}; {@link Pointer#getPointer(Class)} converts it. The memory must
     * not be deallocated while the tensor is in use.
     *
     * @param pointer not null, with a limit from its creation or set by the caller
     * @param dataType the element type: that of a {@code FloatPointer}, {@code DoublePointer},
     *     {@code IntPointer}, {@code LongPointer}, {@code ShortPointer} (also for the bits of
     *     float16 and bfloat16), {@code BoolPointer} or {@code BooleanPointer}, and any type for a
     *     {@code BytePointer} or an instance of {@code Pointer} itself
     * @param device where the memory is
     * @return the tensor; keeps the pointer reachable
     * @throws UsageException if an argument is null, the pointer is a null pointer or was
     *     deallocated, has no limit, is of another class or for another type, its address is not a
     *     multiple of the element size, or its size is not a whole number of elements
     */
    @SuppressWarnings("exports") // Only callers that have JavaCPP use it.
    static Tensor ofPointer(Pointer pointer, DataType dataType, Device device) {
        UsageException.nonNull(dataType, "dataType");
        UsageException.nonNull(device, "device");
        UsageException.nonNull(pointer, "pointer");
        return of(
                PointerRange.address(pointer),
                PointerRange.count(pointer, dataType),
                dataType,
                device,
                pointer);
    }

    /**
     * Same as {@link #ofPointer(Pointer, DataType, Device)} with a number of elements, for pointers
     * without a limit, such as those that {@code cudaMalloc} sets.
     *
     * @param pointer not null
     * @param count number of elements from the pointer's position
     * @param dataType the element type, as there
     * @param device where the memory is
     * @return the tensor; keeps the pointer reachable
     * @throws UsageException if an argument is null, the pointer is a null pointer or was
     *     deallocated, is of another class or for another type, has a limit that leaves fewer
     *     elements, the count is negative, or the address is not a multiple of the element size
     */
    @SuppressWarnings("exports") // Only callers that have JavaCPP use it.
    static Tensor ofPointer(Pointer pointer, long count, DataType dataType, Device device) {
        UsageException.nonNull(dataType, "dataType");
        UsageException.nonNull(device, "device");
        UsageException.nonNull(pointer, "pointer");
        long address = PointerRange.address(pointer);
        PointerRange.require(pointer, count, dataType);
        return of(address, count, dataType, device, pointer);
    }

    /**
     * Allocates memory; host memory is zeroed. Close the tensor to free it. Host memory of 1 MB or
     * more uses huge pages if a binding can request them and the system has some. Another thread
     * frees device memory after a short delay, because the free function may wait for the device.
     * If the device has no memory left, this method waits for pending frees.
     *
     * @param device where to allocate
     * @param dataType element type
     * @param count number of elements
     * @return the tensor, which owns its memory
     * @throws UsageException if the count is negative or too large, or an argument is null
     * @throws BackendUnavailableException if no binding manages memory of that device
     * @throws OutOfMemoryError if there is not enough memory
     */
    static Tensor allocate(Device device, DataType dataType, long count) {
        return Implementation.get().allocateTensor(device, dataType, count);
    }

    /**
     * Allocates host memory and copies an array into it.
     *
     * @param values a {@code float[] double[] int[] long[] short[] byte[] boolean[]} or {@code
     *     char[]}, whose elements become int16 with the same bits
     * @return a tensor of the matching type that owns its memory
     * @throws UsageException if it is not such an array
     */
    static Tensor copyOf(Object values) {
        return Implementation.get().copyToTensor(values);
    }

    /**
     * Returns a part of this tensor, which shares its memory and lifetime: closing one view closes
     * all.
     *
     * @param offset first element
     * @param length number of elements
     * @return the view
     * @throws UsageException if the range is not inside this tensor
     */
    Tensor slice(long offset, long length);

    /**
     * Copies a whole array to the start of this tensor. On a device, the copy runs in the order of
     * the current stream and is complete on return.
     *
     * @param values an array with the element size of this tensor. {@code short[]} and {@code
     *     char[]} hold the bits of float16 and bfloat16; {@code byte[]} holds those of bool, uint8
     *     and float8. {@code boolean[]} is for bool only; every element except 0 is true
     * @return this tensor
     * @throws UsageException if the array does not fit, has another element size, the tensor is
     *     closed, or an operation that uses it has not completed; on a device, if the current
     *     stream does not wait for that operation either
     */
    Tensor copyFrom(Object values);

    /**
     * Copies a whole tensor to the start of this one.
     *
     * <p>If both are on one device, the copy is enqueued on the current stream of the calling
     * thread, and the host does not wait. Tensors that own their memory may be closed at once: it
     * is freed after the stream has passed the copy. Borrowed memory must stay valid until then, as
     * with the caller's own kernels. The same applies to all memory if the current stream belongs
     * to another library and its {@link Stream} is closed before the tensor. If one or both are on
     * the CPU, the copy runs in the order of the current stream of the device and is complete on
     * return.
     *
     * @param source a tensor of the same type, with at most as many elements; must not overlap this
     *     tensor on a device
     * @return this tensor
     * @throws UsageException if the source is null, of another type, too large, or on another
     *     accelerator, one of the tensors is closed, or an operation that writes it, or uses this
     *     tensor, has not completed; on a device, if the current stream does not wait for it either
     * @throws JcclException from a device to the CPU, under the conditions of {@link
     *     Stream#synchronize} of the current stream; the contents of this tensor are then undefined
     */
    Tensor copyFrom(Tensor source);

    /**
     * Copies the start of this tensor to a whole array. On a device, the copy runs in the order of
     * the current stream and is complete on return.
     *
     * @param <T> the array type
     * @param values an array as for {@link #copyFrom}
     * @return the array
     * @throws UsageException under the conditions of {@link #copyFrom}, except that operations may
     *     read this tensor
     * @throws JcclException on a device, under the conditions of {@link Stream#synchronize} of the
     *     current stream; the array is not changed
     */
    <T> T copyTo(T values);

    /**
     * Returns the address of the first element.
     *
     * @return the address on {@link #device()}
     */
    long address();

    /**
     * Returns the number of elements.
     *
     * @return not negative
     */
    long count();

    /**
     * Returns the size in bytes.
     *
     * @return count times element size
     */
    long byteSize();

    /**
     * Returns the element type.
     *
     * @return the type
     */
    DataType dataType();

    /**
     * Returns where the memory is.
     *
     * @return the device
     */
    Device device();

    /**
     * Adds an action that runs when this tensor or another view of its memory is closed. An adapter
     * that shares the memory with another library needs this to reject later accesses by that
     * library.
     *
     * @param action runs once, on the thread that closes the memory, before the memory is freed. It
     *     must neither block nor throw an exception
     * @return a runnable that removes the action; idempotent. The action may still run at the same
     *     time
     * @throws UsageException if the action is null or the tensor is closed
     */
    Runnable onClose(Runnable action);

    /**
     * Frees owned memory as soon as no operation uses it, and makes further use an error. Closing a
     * slice closes all views of the memory. Idempotent; never blocks.
     */
    @Override
    void close();

    /** Returns for instance {@code float32 x 4 on cpu}. */
    @Override
    String toString();
}
