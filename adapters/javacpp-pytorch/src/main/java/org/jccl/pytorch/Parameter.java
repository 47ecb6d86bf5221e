package org.jccl.pytorch;

import java.util.Arrays;
import org.bytedeco.pytorch.Storage;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch.Layout;
import org.jccl.DataType;

/**
 * A trained parameter: its hook, and the location of its gradient in a bucket. Guarded by the lock
 * of its {@link DistributedDataParallel}.
 */
final class Parameter implements AutoCloseable {

    final String name;
    final Tensor tensor;
    final DataType type;
    private final long[] shape;
    private final long[] strides;
    private Tensor place;
    private TensorHook hook;

    /** Whether the gradient of this step is in its bucket. */
    boolean arrived;

    Parameter(String name, Tensor tensor, DataType type) {
        if (!tensor.is_leaf()) {
            throw TorchTensors.usage(
                    "parameter '"
                            + name
                            + "' is not a leaf of the graph: it is computed from other tensors, and"
                            + " PyTorch keeps no gradient of it");
        }
        this.name = name;
        this.tensor = tensor;
        this.type = type;
        this.shape = TorchTensors.shape(tensor);
        this.strides = TorchTensors.strides(tensor);
    }

    /**
     * Sets an action that runs in each backward pass after the gradient was computed, just before
     * PyTorch adds it to {@code grad}, in the same thread.
     */
    void hook(Runnable action) {
        hook =
                TensorHook.ofParameter(
                        name,
                        tensor,
                        gradient -> {
                            // PyTorch adopts a gradient without a copy if there is no other
                            // reference.
                            gradient.close();
                            action.run();
                        });
    }

    /** Sets the location of the gradient. The content was copied from the old location before. */
    void setPlace(Tensor bucket, long offset) {
        Tensor old = place;
        try (Storage storage = bucket.storage()) {
            // Not a view, which the zero_grad() of optimizers would reject.
            place = TorchTensors.keep(bucket.new_empty(0));
            place.set_(storage, offset, shape, strides);
        }
        if (old != null) {
            try (Tensor gradient = tensor.grad()) {
                if (isSame(gradient, old)) {
                    tensor.mutable_grad().put(place);
                }
            }
            old.close();
        }
    }

    private static boolean isSame(Tensor gradient, Tensor place) {
        return gradient.defined()
                && gradient.has_storage()
                && TorchTensors.address(gradient) == TorchTensors.address(place);
    }

    /** Moves the gradient to its location unless it is there; returns false if there is none. */
    boolean moveGradient() {
        try (Tensor gradient = tensor.grad()) {
            if (!gradient.defined()) {
                return false;
            }
            if (!isSame(gradient, place)) {
                requireSameKind(gradient);
                try (Tensor values = gradient.detach()) {
                    place.copy_(values);
                }
                putGradient();
            }
            return true;
        }
    }

    /** Rejects another type, because a copy would convert it silently. */
    private void requireSameKind(Tensor gradient) {
        boolean same =
                gradient.layout().intern() == Layout.Strided
                        && gradient.scalar_type().intern() == place.scalar_type().intern()
                        && gradient.device().equals(place.device())
                        && Arrays.equals(TorchTensors.shape(gradient), shape);
        if (!same) {
            throw TorchTensors.usage(
                    "the gradient of '"
                            + name
                            + "' is "
                            + describe(gradient)
                            + ", the parameter was "
                            + describe(place)
                            + " when training began; gradients must be dense, and parameters must"
                            + " stay as they are");
        }
    }

    private static String describe(Tensor tensor) {
        return tensor.layout().intern()
                + " "
                + tensor.scalar_type().intern()
                + " "
                + Arrays.toString(TorchTensors.shape(tensor))
                + " on "
                + tensor.device().str().getString();
    }

    /** Makes the memory at the location the gradient. */
    void putGradient() {
        tensor.mutable_grad().put(place);
    }

    /**
     * Clears a gradient that was not computed in this step.
     *
     * @return a copy of the gradient of an earlier pass, or null if the program has cleared it
     */
    Tensor takeEarlier() {
        try (Tensor gradient = tensor.grad()) {
            if (gradient.defined()) {
                return TorchTensors.keep(place.clone());
            }
            place.zero_();
            return null;
        }
    }

    /** Restores the gradient that {@link #takeEarlier} returned. */
    void putEarlier(Tensor earlier) {
        place.copy_(earlier);
    }

    /** Removes the hook; the gradient is unchanged. */
    @Override
    public void close() {
        if (hook != null) {
            hook.remove();
        }
        if (place != null) {
            place.close();
        }
    }
}
