package org.jccl.pytorch;

import org.bytedeco.cuda.cudart.CUstream_st;
import org.bytedeco.pytorch.cuda.CUDAStream;
import org.bytedeco.pytorch.global.torch_cuda;
import org.jccl.BackendUnavailableException;
import org.jccl.Device;
import org.jccl.Event;
import org.jccl.Stream;
import org.jccl.UsageException;

/**
 * Passes PyTorch's current CUDA stream to JCCL. Needs the presets of PyTorch for CUDA and the
 * binding for NCCL.
 */
public final class TorchStreams {

    private TorchStreams() {}

    /**
     * The calling thread's current stream in PyTorch. Operations wait for what PyTorch enqueues,
     * and it for them, while it is current in JCCL too:
     *
     * <pre>{@code
     * try (Stream.Scope scope = TorchStreams.current(device).use()) {
     *     group.allReduce(TorchTensors.of(tensor), ReduceOp.SUM).await();
     * }
     * }</pre>
     *
     * <p>{@link DistributedDataParallel} does so by itself.
     *
     * @param device a CUDA device
     * @return PyTorch's stream; closing it is not needed and does nothing to PyTorch's
     * @throws UsageException if the device is none of CUDA
     * @throws BackendUnavailableException if no binding drives such devices
     */
    public static Stream current(Device device) {
        if (device == null || !device.type().equals("cuda")) {
            throw TorchTensors.usage("PyTorch has no CUDA stream for device " + device);
        }
        CUDAStream current =
                TorchTensors.keep(torch_cuda.getCurrentCUDAStream((byte) device.index()));
        try (CUstream_st handle = current.stream()) {
            // The default stream is a null pointer, which JavaCPP makes null.
            return Stream.ofHandle(device, handle == null ? 0 : handle.address(), current);
        }
    }

    /** Runs an action in the order of PyTorch's current stream, if the device has streams. */
    static void onCurrent(Device device, Runnable action) {
        Stream.Scope scope = device.isCpu() ? () -> {} : current(device).use();
        try {
            action.run();
        } finally {
            scope.close();
        }
    }

    /** Makes the stream that is current now wait for what is on another one. */
    static void currentWaitsFor(Stream other) {
        Stream current = Stream.current(other.device());
        if (current.handle() != other.handle()) {
            try (Event event = Event.create(other.device(), false)) {
                event.record(other);
                current.waitEvent(event);
            }
        }
    }
}
