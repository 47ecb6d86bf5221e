package org.jccl.pytorch;

import java.util.Arrays;
import java.util.concurrent.Callable;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.cuda.CUDAStream;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch_cuda;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Work;

/** What checks on a device have in common. */
abstract class DeviceChecks {

    final ProcessGroup group;
    final Device device;
    final org.bytedeco.pytorch.Device torchDevice;

    DeviceChecks(ProcessGroup group, Device device) {
        this.group = group;
        this.device = device;
        this.torchDevice = new org.bytedeco.pytorch.Device(device.toString());
    }

    static void require(boolean condition, String words, Object... values) {
        if (!condition) {
            throw new AssertionError(words.formatted(values));
        }
    }

    /** Returns the message of the exception that an action throws. */
    static String failure(Class<? extends Throwable> kind, Runnable action) {
        try {
            action.run();
        } catch (RuntimeException e) {
            require(kind.isInstance(e), "a %s, expected %s", e, kind);
            return e.getMessage();
        }
        throw new AssertionError("no " + kind.getName());
    }

    TensorOptions options() {
        return new TensorOptions(torchDevice);
    }

    Tensor filled(double value, long... shape) {
        return torch.full(shape, new Scalar((float) value), options());
    }

    Tensor onDevice(Tensor tensor) {
        return tensor.to(torchDevice, tensor.scalar_type());
    }

    /** Elements, in the order of PyTorch's current stream. */
    static float[] values(Tensor tensor) {
        return SmallNet.values(tensor.detach().cpu());
    }

    /** Runs an action with a stream of PyTorch's pool as its current one. */
    <T> T onAnotherStream(Callable<T> action) throws Exception {
        if (device.isCpu()) {
            return action.call();
        }
        CUDAStream before = torch_cuda.getCurrentCUDAStream((byte) device.index());
        CUDAStream other = torch_cuda.getStreamFromPool(false, (byte) device.index());
        before.synchronize();
        torch_cuda.setCurrentCUDAStream(other);
        try {
            return action.call();
        } finally {
            other.synchronize();
            torch_cuda.setCurrentCUDAStream(before);
        }
    }

    private long side() {
        return device.isCpu() ? 64 : 4096;
    }

    /** Of the shape of {@link #slowly}; the device has finished it. */
    Tensor stale() {
        Tensor tensor = filled(-1, side(), side());
        requireFilled("a new tensor", tensor, -1);
        return tensor;
    }

    /** A tensor with one value, which PyTorch's current stream computes for a while. */
    Tensor slowly(double value) {
        Tensor unit = torch.eye(side(), options());
        Tensor result = filled(value, side(), side());
        for (int i = 0; i < (device.isCpu() ? 2 : 25); i++) {
            Tensor before = result;
            result = before.mm(unit);
            before.close();
        }
        return result;
    }

    /** Whether PyTorch's current stream has work that is not done. */
    boolean isBusy() {
        return device.isCpu() || !torch_cuda.getCurrentCUDAStream((byte) device.index()).query();
    }

    Work begin(Tensor tensor) {
        Work[] work = new Work[1];
        TorchStreams.onCurrent(
                device, () -> work[0] = group.allReduce(TorchTensors.of(tensor), ReduceOp.SUM));
        return work[0];
    }

    /** PyTorch's current stream waits; this thread does not, on a device. */
    void await(Work work) {
        TorchStreams.onCurrent(device, work::await);
    }

    void allReduce(Tensor tensor) {
        await(begin(tensor));
    }

    /** All elements have one value. */
    static void requireFilled(String name, Tensor tensor, double value) {
        float least = tensor.min().item_float();
        float most = tensor.max().item_float();
        require(
                least == (float) value && most == (float) value,
                "%s is from %s to %s, expected %s",
                name,
                least,
                most,
                value);
    }

    /** Of the ranks' numbers. A group of GPUs takes no tensor in host memory. */
    static double largest(ProcessGroup group, double number) {
        Device where = group.devices().get(0);
        try (org.jccl.Tensor all = org.jccl.Tensor.allocate(where, DataType.FLOAT64, 1)) {
            all.copyFrom(new double[] {number});
            group.allReduce(all, ReduceOp.MAX).synchronize();
            return all.copyTo(new double[1])[0];
        }
    }

    /** The same bits on all ranks. */
    void requireSameBits(float[] values) {
        Device where = group.devices().get(0);
        try (org.jccl.Tensor first =
                org.jccl.Tensor.allocate(where, DataType.FLOAT32, values.length)) {
            first.copyFrom(values);
            group.broadcast(first, 0).synchronize();
            require(
                    Arrays.equals(first.copyTo(new float[values.length]), values),
                    "rank %d has other weights than rank 0",
                    group.rank());
        }
    }

    static float difference(float[] ones, float[] others) {
        require(ones.length == others.length, "%d and %d values", ones.length, others.length);
        float largest = 0;
        for (int i = 0; i < ones.length; i++) {
            float difference = Math.abs(ones[i] - others[i]);
            largest = Float.isFinite(difference) ? Math.max(largest, difference) : Float.MAX_VALUE;
        }
        return largest;
    }

    static float requireClose(float[] ones, float[] others, double tolerance) {
        float difference = difference(ones, others);
        require(difference <= tolerance, "differs by %s, more than %s", difference, tolerance);
        return difference;
    }
}
