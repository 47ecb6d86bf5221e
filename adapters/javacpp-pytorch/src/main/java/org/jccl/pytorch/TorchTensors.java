package org.jccl.pytorch;

import java.util.Arrays;
import java.util.EnumMap;
import java.util.Map;
import java.util.stream.LongStream;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.pytorch.MemoryFormatOptional;
import org.bytedeco.pytorch.ScalarTypeOptional;
import org.bytedeco.pytorch.Storage;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.Layout;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.UsageException;

/** Shares the memory of tensors between PyTorch and JCCL, in both directions, without a copy. */
public final class TorchTensors {

    private static final Map<ScalarType, DataType> TYPES =
            new EnumMap<>(
                    Map.ofEntries(
                            Map.entry(ScalarType.Byte, DataType.UINT8),
                            Map.entry(ScalarType.Char, DataType.INT8),
                            Map.entry(ScalarType.Short, DataType.INT16),
                            Map.entry(ScalarType.Int, DataType.INT32),
                            Map.entry(ScalarType.Long, DataType.INT64),
                            Map.entry(ScalarType.Half, DataType.FLOAT16),
                            Map.entry(ScalarType.BFloat16, DataType.BFLOAT16),
                            Map.entry(ScalarType.Float, DataType.FLOAT32),
                            Map.entry(ScalarType.Double, DataType.FLOAT64),
                            Map.entry(ScalarType.Bool, DataType.BOOL),
                            Map.entry(ScalarType.Float8_e4m3fn, DataType.FLOAT8_E4M3),
                            Map.entry(ScalarType.Float8_e5m2, DataType.FLOAT8_E5M2)));

    private TorchTensors() {}

    /**
     * Returns a tensor that shares memory with a PyTorch tensor. Autograd does not track changes by
     * a process group.
     *
     * <p>The memory exists as long as the result, or an operation on it, is reachable, also after
     * the argument is closed or its {@code PointerScope} ends. Resizing the storage, as {@code
     * resize_} may, frees the memory nevertheless; do not do so while the result is in use.
     *
     * @param tensor dense and contiguous, on the CPU or a CUDA device, of a type that JCCL has
     * @return its elements in their order in memory; on CUDA, operations are ordered after the
     *     calling thread's current stream, which {@link TorchStreams} takes from PyTorch
     * @throws UsageException if the tensor is null, closed or undefined, not dense or not
     *     contiguous, has a type or a device that JCCL does not know, is conjugated or negated
     *     lazily, or has less memory than elements
     */
    public static org.jccl.Tensor of(Tensor tensor) {
        return of("the tensor", tensor);
    }

    /** The same, for messages that name the tensor. */
    static org.jccl.Tensor of(String name, Tensor tensor) {
        requireDefined(name, tensor);
        Layout layout = tensor.layout().intern();
        if (layout != Layout.Strided) {
            throw usage(name + " has the layout " + layout + "; only dense ones can be sent");
        }
        DataType type = TYPES.get(tensor.scalar_type().intern());
        if (type == null) {
            throw usage(
                    name
                            + " is of type "
                            + tensor.scalar_type().intern()
                            + ", which JCCL does not have; it has "
                            + TYPES.keySet());
        }
        Device device = device(name, tensor);
        if (!tensor.is_contiguous()) {
            throw usage(
                    name
                            + " is not contiguous: it has shape "
                            + Arrays.toString(shape(tensor))
                            + " and strides "
                            + Arrays.toString(strides(tensor))
                            + "; use a contiguous() copy");
        }
        if (tensor.is_conj() || tensor.is_neg()) {
            throw usage(name + " is conjugated or negated lazily; use resolve_conj, resolve_neg");
        }
        long count = tensor.numel();
        requireMemory(name, tensor, count * type.size());
        // A second tensor over the same storage, in case the program gives the first one another.
        return org.jccl.Tensor.of(address(tensor), count, type, device, keep(tensor.detach()));
    }

    /**
     * Returns a PyTorch tensor that shares memory with a JCCL tensor. It is a leaf without a
     * gradient.
     *
     * <p>The view keeps the JCCL tensor reachable, and so the owner of borrowed memory, until
     * PyTorch has no tensor of this memory any more. When the JCCL tensor is closed, its memory is
     * no longer that of the view: PyTorch throws an exception with the name of the tensor whenever
     * it accesses the elements of the view, or of a tensor that shares memory with the view, also
     * in a backward pass. The same holds for tensors of a {@link org.jccl.training.ShardedUnit},
     * which {@code release()} and {@code reduce()} close.
     *
     * <p>Three accesses are not detected. Another thread, or a CUDA stream, that uses the view
     * while the tensor is closed may read memory that was freed. So may a program that took the
     * address out of the view, for instance by {@code data_ptr()} or an {@code Indexer}, and a view
     * of a segment whose arena was closed.
     *
     * @param tensor on the CPU or a CUDA device
     * @param shape the sizes of the view, with as many elements as the tensor; a view of one
     *     dimension if no size is passed
     * @return a tensor of PyTorch, which the caller or its {@code PointerScope} closes
     * @throws UsageException if an argument is null, the tensor is closed or on another kind of
     *     device, a size is negative, or the sizes have another number of elements
     */
    public static Tensor view(org.jccl.Tensor tensor, long... shape) {
        if (tensor == null || shape == null) {
            throw usage((tensor == null ? "the tensor" : "shape") + " is null");
        }
        long[] sizes = shape.length == 0 ? new long[] {tensor.count()} : shape;
        requireCount(tensor, sizes);
        try (org.bytedeco.pytorch.Device device = device(tensor.device());
                TensorOptions options =
                        new TensorOptions(device).dtype(new ScalarTypeOptional(type(tensor)))) {
            if (tensor.count() == 0) {
                tensor.onClose(() -> {}).run(); // throws if the tensor is closed
                return torch.empty(sizes, options, new MemoryFormatOptional());
            }
            return LentMemory.view(tensor, sizes, options, device);
        }
    }

    private static void requireCount(org.jccl.Tensor tensor, long[] sizes) {
        long count = 1;
        for (long size : sizes) {
            boolean fits = size >= 0 && (size == 0 || count <= Long.MAX_VALUE / size);
            count = fits && count >= 0 ? count * size : -1;
        }
        if (count != tensor.count()) {
            throw usage(tensor + " has no view of shape " + Arrays.toString(sizes));
        }
    }

    private static ScalarType type(org.jccl.Tensor tensor) {
        return TYPES.entrySet().stream()
                .filter(each -> each.getValue() == tensor.dataType())
                .findFirst()
                .orElseThrow()
                .getKey();
    }

    private static org.bytedeco.pytorch.Device device(Device device) {
        if (!device.isCpu() && !device.type().equals("cuda")) {
            throw usage("PyTorch has no view of memory on " + device + "; only of CPU and CUDA");
        }
        return new org.bytedeco.pytorch.Device(device.toString());
    }

    static long address(Tensor tensor) {
        try (Pointer memory = tensor.data_ptr()) {
            return memory == null ? 0 : memory.address();
        }
    }

    static void requireDefined(String name, Tensor tensor) {
        if (tensor == null) {
            throw usage(name + " is null");
        }
        if (tensor.isNull()) {
            throw usage(name + " is closed, or its PointerScope has ended");
        }
        if (!tensor.defined()) {
            throw usage(name + " is undefined");
        }
    }

    private static Device device(String name, Tensor tensor) {
        try (org.bytedeco.pytorch.Device device = tensor.device()) {
            if (device.is_cpu()) {
                return Device.CPU;
            }
            if (device.is_cuda()) {
                return new Device("cuda", device.index());
            }
            throw usage(
                    name
                            + " is on "
                            + device.str().getString()
                            + "; only tensors on the CPU and on CUDA devices can be sent");
        }
    }

    /** PyTorch itself looks at neither: {@code data_ptr_float()} knows no size. */
    private static void requireMemory(String name, Tensor tensor, long bytes) {
        try (Storage storage = tensor.storage()) {
            long offset = tensor.storage_offset() * tensor.element_size();
            long there = storage.nbytes();
            if (bytes > 0 && offset + bytes > there) {
                throw usage(
                        name
                                + " has elements at bytes "
                                + offset
                                + " to "
                                + (offset + bytes)
                                + " of a storage of "
                                + there);
            }
        }
    }

    static long[] shape(Tensor tensor) {
        return LongStream.range(0, tensor.dim()).map(tensor::size).toArray();
    }

    static long[] strides(Tensor tensor) {
        return LongStream.range(0, tensor.dim()).map(tensor::stride).toArray();
    }

    /** Takes a handle out of the caller's {@code PointerScope}, which would close it. */
    static <P extends Pointer> P keep(P handle) {
        return handle.retainReference();
    }

    static UsageException usage(String message) {
        return new UsageException(FailureContext.NONE, message);
    }
}
