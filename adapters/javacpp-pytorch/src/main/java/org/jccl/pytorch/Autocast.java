package org.jccl.pytorch;

import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.DeviceType;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.jccl.UsageException;

/**
 * A scope in which PyTorch runs operations in 16 bits if that is accurate enough, like {@code
 * torch.autocast}. It is for the forward pass and the loss; the backward pass runs outside of it.
 *
 * <pre>{@code
 * Tensor loss;
 * try (Autocast scope = Autocast.of(DeviceType.CPU, ScalarType.BFloat16)) {
 *     loss = cross_entropy_loss(net.forward(images), labels);
 * }
 * ddp.backward(loss);
 * }</pre>
 *
 * <p>Parameters stay float32, and so do their gradients and the state of the optimizer. With
 * float16 use a {@link GradientScaler}. The scope holds for the thread that opened it, and may be
 * nested.
 */
public final class Autocast implements AutoCloseable {

    private final Thread thread = Thread.currentThread();
    private final DeviceType device;
    private final boolean enabledBefore;
    private final ScalarType typeBefore;
    private final boolean cachedBefore = torch.is_autocast_cache_enabled();
    private boolean closed;

    private Autocast(DeviceType device, ScalarType type) {
        this.device = device;
        enabledBefore = torch.is_autocast_enabled(device);
        typeBefore = torch.get_autocast_dtype(device);
        torch.set_autocast_enabled(device, true);
        torch.set_autocast_dtype(device, type);
        // A copy of a parameter would be out of date after a step of the optimizer in the scope.
        torch.set_autocast_cache_enabled(false);
    }

    /**
     * Opens a scope.
     *
     * @param device of the tensors, for instance the CPU
     * @param type {@code BFloat16} or {@code Half}
     * @return the scope, which the same thread must close
     * @throws UsageException if an argument is null, the type is another one, or PyTorch has no
     *     autocast for the device
     */
    public static Autocast of(DeviceType device, ScalarType type) {
        ScalarType known = type == null ? null : type.intern(); // may be another object
        if (known != ScalarType.BFloat16 && known != ScalarType.Half) {
            throw TorchTensors.usage("autocast is for BFloat16 and Half, got " + type);
        }
        if (device == null || !torch.is_autocast_available(device)) {
            throw TorchTensors.usage("PyTorch has no autocast for " + device);
        }
        return new Autocast(device, type);
    }

    /**
     * Restores the state before the scope. Idempotent.
     *
     * @throws UsageException on another thread than the one that opened the scope
     */
    @Override
    public void close() {
        if (Thread.currentThread() != thread) {
            throw TorchTensors.usage(
                    "close an Autocast on the thread that opened it, " + thread.getName());
        }
        if (!closed) {
            closed = true;
            torch.set_autocast_enabled(device, enabledBefore);
            torch.set_autocast_dtype(device, typeBefore);
            torch.set_autocast_cache_enabled(cachedBefore);
        }
    }
}
