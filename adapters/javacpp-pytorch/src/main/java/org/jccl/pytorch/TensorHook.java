package org.jccl.pytorch;

import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorBase;
import org.bytedeco.pytorch.VoidTensorHook;

/**
 * An action that PyTorch runs in each backward pass when it has computed the gradient of a tensor:
 * for a parameter before it adds the gradient to {@code grad}, for the output of a module before
 * the backward pass of the module. The action owns the gradient and must close it.
 */
final class TensorHook extends VoidTensorHook {

    /**
     * All hooks. PyTorch would call a hook that Java has collected, and a graph may exist as long
     * as the process.
     */
    private static final Set<TensorHook> RETAINED = ConcurrentHashMap.newKeySet();

    /** The names of the parameters that have a hook, by the address of the tensor. */
    private static final Map<Long, TensorHook> OF_PARAMETERS = new ConcurrentHashMap<>();

    private volatile Consumer<TensorBase> action;

    /** Of a parameter; null for a hook of outputs. */
    private Tensor parameter;

    private int number;

    private TensorHook(Consumer<TensorBase> action) {
        this.action = action;
    }

    /** Returns a hook that the caller registers on any number of tensors. */
    static TensorHook ofOutputs(Consumer<TensorBase> action) {
        TensorHook hook = TorchTensors.keep(new TensorHook(action));
        RETAINED.add(hook);
        return hook;
    }

    /** Registers a hook on a parameter, which may have one of ours at a time. */
    static TensorHook ofParameter(String name, Tensor parameter, Consumer<TensorBase> action) {
        TensorHook hook = TorchTensors.keep(new TensorHook(action));
        if (OF_PARAMETERS.putIfAbsent(ModelTensors.identity(parameter), hook) != null) {
            hook.close();
            throw TorchTensors.usage(
                    "parameter '"
                            + name
                            + "' is trained by another DistributedDataParallel or"
                            + " FullyShardedDataParallel; close that first");
        }
        hook.parameter = parameter;
        hook.number = parameter.register_hook(hook);
        return hook;
    }

    @Override
    public void call(TensorBase gradient) {
        Consumer<TensorBase> now = action;
        if (now == null) {
            gradient.close();
            throw TorchTensors.usage("the backward pass runs after close()");
        }
        now.accept(gradient);
    }

    /** Removes the hook of a parameter. Outputs keep theirs, which throws from now on. */
    void remove() {
        action = null;
        if (parameter != null) {
            parameter.remove_hook(number);
            OF_PARAMETERS.remove(ModelTensors.identity(parameter));
            close();
        }
    }
}
