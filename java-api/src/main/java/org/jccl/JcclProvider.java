package org.jccl;

import java.nio.Buffer;

/**
 * Makes what the static methods of this package return. Not for programs, which call those methods:
 * jccl-api has the only implementation, and finds it as a service, so that this package depends on
 * no other.
 *
 * <p>Arguments and exceptions are those of the methods that are named. Safe for use by several
 * threads.
 */
public interface JcclProvider {

    /**
     * {@link ProcessGroup#builder}.
     *
     * @return a builder with all defaults
     */
    ProcessGroupBuilder processGroupBuilder();

    /**
     * {@link Tensor#of(java.nio.ByteBuffer, DataType)}, and those of other buffers.
     *
     * @param buffer of bytes, or of elements as large as the type's
     * @param dataType type of the elements in it
     * @return the tensor
     */
    Tensor borrowTensor(Buffer buffer, DataType dataType);

    /**
     * {@link Tensor#of(long, long, DataType, Device, Object)}.
     *
     * @param address first byte
     * @param count number of elements
     * @param dataType element type
     * @param device where the memory is
     * @param owner kept reachable; may be null
     * @return the tensor
     */
    Tensor borrowTensor(long address, long count, DataType dataType, Device device, Object owner);

    /**
     * {@link Tensor#adopt}.
     *
     * @param address first byte
     * @param count number of elements
     * @param dataType element type
     * @param device where the memory is
     * @param release frees it
     * @return the tensor
     */
    Tensor adoptTensor(
            long address, long count, DataType dataType, Device device, Runnable release);

    /**
     * {@link Tensor#allocate}.
     *
     * @param device where
     * @param dataType element type
     * @param count number of elements
     * @return the tensor
     */
    Tensor allocateTensor(Device device, DataType dataType, long count);

    /**
     * {@link Tensor#copyOf}.
     *
     * @param values an array
     * @return the tensor
     */
    Tensor copyToTensor(Object values);

    /**
     * {@link Stream#create}.
     *
     * @param device an accelerator
     * @param highPriority whether it has the highest priority
     * @return the stream
     */
    Stream createStream(Device device, boolean highPriority);

    /**
     * {@link Stream#ofHandle}.
     *
     * @param device its device
     * @param handle the native handle
     * @param owner kept reachable; may be null
     * @return the stream
     */
    Stream wrapStream(Device device, long handle, Object owner);

    /**
     * {@link Stream#current}.
     *
     * @param device an accelerator
     * @return the calling thread's
     */
    Stream currentStream(Device device);

    /**
     * {@link Event#create}.
     *
     * @param device an accelerator
     * @param timing whether it can be asked for times
     * @return the event
     */
    Event createEvent(Device device, boolean timing);
}
