package org.jccl;

import java.nio.Buffer;

/**
 * Creates the objects that the static methods of this package return. Programs do not use it. The
 * only implementation is in jccl-engine, which this package finds as a service and so does not
 * depend on.
 *
 * <p>Arguments and exceptions are those of the linked methods. Implementations are thread-safe.
 */
public interface JcclProvider {

    /**
     * Implements {@link ProcessGroup#builder}.
     *
     * @return a builder with default values
     */
    ProcessGroupBuilder processGroupBuilder();

    /**
     * Implements {@link Tensor#of(java.nio.ByteBuffer, DataType)}, and the methods for other
     * buffers.
     *
     * @param buffer a buffer of bytes, or of elements as large as the type
     * @param dataType element type
     * @return the tensor
     */
    Tensor borrowTensor(Buffer buffer, DataType dataType);

    /**
     * Implements {@link Tensor#ofSegment}.
     *
     * @param segment see there
     * @param dataType see there
     * @return the tensor
     */
    Tensor borrowSegment(Object segment, DataType dataType);

    /**
     * Implements {@link Tensor#of(long, long, DataType, Device, Object)}.
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
     * Implements {@link Tensor#adopt}.
     *
     * @param address first byte
     * @param count number of elements
     * @param dataType element type
     * @param device where the memory is
     * @param release frees the memory
     * @return the tensor
     */
    Tensor adoptTensor(
            long address, long count, DataType dataType, Device device, Runnable release);

    /**
     * Implements {@link Tensor#allocate}.
     *
     * @param device where to allocate
     * @param dataType element type
     * @param count number of elements
     * @return the tensor
     */
    Tensor allocateTensor(Device device, DataType dataType, long count);

    /**
     * Implements {@link Tensor#copyOf}.
     *
     * @param values an array
     * @return the tensor
     */
    Tensor copyToTensor(Object values);

    /**
     * Implements {@link Stream#create}.
     *
     * @param device an accelerator
     * @param highPriority whether it has the highest priority
     * @return the stream
     */
    Stream createStream(Device device, boolean highPriority);

    /**
     * Implements {@link Stream#ofHandle}.
     *
     * @param device its device
     * @param handle the native handle
     * @param owner kept reachable; may be null
     * @return the stream
     */
    Stream wrapStream(Device device, long handle, Object owner);

    /**
     * Implements {@link Stream#current}.
     *
     * @param device an accelerator
     * @return the current stream of the calling thread
     */
    Stream currentStream(Device device);

    /**
     * Implements {@link Event#create}.
     *
     * @param device an accelerator
     * @param timing whether it measures time
     * @return the event
     */
    Event createEvent(Device device, boolean timing);

    /**
     * Implements {@link Event#ofHandle}.
     *
     * @param device its device
     * @param handle the native handle
     * @param owner kept reachable; may be null
     * @return the event
     */
    Event wrapEvent(Device device, long handle, Object owner);
}
