package org.jccl.pytorch;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.bytedeco.pytorch.DataPtr;
import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.Storage;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorBase;
import org.jccl.training.ShardedUnit;

/**
 * The parameters of a {@link ShardedUnit} as PyTorch has them, in one storage. PyTorch saves views
 * of a parameter for the backward pass, so the storage stays. Only its memory is exchanged: while
 * the unit is released, it has no numbers (NaN), and the parameters have no elements.
 */
final class ModuleUnit implements AutoCloseable {

    /** A parameter and its location in the storage. */
    private static final class Member {
        final String name;
        final Tensor parameter;
        final Tensor place;
        TensorHook hook;

        /** Whether the gradient of this pass came. */
        boolean arrived;

        Member(String name, Tensor parameter, Tensor place) {
            this.name = name;
            this.parameter = parameter;
            this.place = place;
        }
    }

    /** Called before PyTorch adds a gradient to a parameter. */
    interface Arrival {
        void arrived(ModuleUnit unit, int member, TensorBase gradient);
    }

    private final ShardedUnit unit;
    private final org.jccl.Tensor notANumber;
    private final Tensor none;

    /** All parameters, in the storage that stays. */
    private final Tensor whole;

    private final List<Member> members = new ArrayList<>();
    private final TensorHook outputHook;

    /** This rank's part of the parameters, which the optimizer updates. */
    private final Tensor shard;

    /** Whether the memory of the unit is gathered, or will be. */
    private boolean gathered;

    private boolean attached;

    /** The number of forward scopes that are open. */
    int scopes;

    /** Whether the backward pass came to the unit and has not computed all of its gradients. */
    boolean inBackward;

    /** Whether the gradients of this pass were sent. */
    private boolean reduced;

    /**
     * Shards parameters that still have all their elements.
     *
     * @param unit has parameters with these names in this order
     * @param parameters contiguous leaves that require a gradient
     * @param notANumber at least as many elements as the unit
     */
    ModuleUnit(
            ShardedUnit unit,
            Map<String, Tensor> parameters,
            org.jccl.Tensor notANumber,
            Arrival arrival,
            Runnable beforeBackward) {
        this.unit = unit;
        long count = parameters.values().stream().mapToLong(Tensor::numel).sum();
        this.notANumber = notANumber.slice(0, count);
        whole = TorchTensors.keep(TorchTensors.view(this.notANumber));
        none = TorchTensors.keep(whole.new_empty(0));
        long offset = 0;
        for (Map.Entry<String, Tensor> each : parameters.entrySet()) {
            Tensor parameter = each.getValue();
            Tensor place = TorchTensors.keep(whole.new_empty(0));
            try (Storage storage = whole.storage()) {
                place.set_(
                        storage,
                        offset,
                        TorchTensors.shape(parameter),
                        TorchTensors.strides(parameter));
            }
            members.add(new Member(each.getKey(), parameter, place));
            offset += parameter.numel();
        }
        shard = TorchTensors.keep(TorchTensors.view(unit.parameterShard()).set_requires_grad(true));
        outputHook =
                TensorHook.ofOutputs(
                        gradient -> {
                            gradient.close();
                            beforeBackward.run();
                        });
        for (int i = 0; i < members.size(); i++) {
            int index = i;
            Member member = members.get(i);
            member.hook =
                    TensorHook.ofParameter(
                            member.name,
                            member.parameter,
                            gradient -> arrival.arrived(this, index, gradient));
        }
        detach();
    }

    String name() {
        return unit.name();
    }

    Tensor shard() {
        return shard;
    }

    ShardedUnit unit() {
        return unit;
    }

    boolean isGathered() {
        return gathered;
    }

    boolean isUsed() {
        return scopes > 0 || inBackward;
    }

    /** Starts to gather the parameters. */
    void prefetch() {
        unit.prefetch();
        gathered = true;
    }

    /** Makes the parameters whole. */
    void gather() {
        prefetch();
        if (!attached) {
            unit.gather();
            exchangeMemory(unit.parameter(members.get(0).name));
            members.forEach(member -> member.parameter.set_data(member.place));
            attached = true;
        }
    }

    /** Ends the use of the memory, unless a forward scope or the backward pass uses it. */
    void releaseUnused() {
        if (!isUsed() && gathered) {
            release();
        }
    }

    private void release() {
        detach();
        unit.release();
        gathered = false;
    }

    private void detach() {
        attached = false;
        members.forEach(member -> member.parameter.set_data(none));
        exchangeMemory(notANumber);
    }

    private void exchangeMemory(org.jccl.Tensor memory) {
        try (Storage storage = whole.storage();
                Device device = whole.device();
                DataPtr data = LentMemory.data(memory, device)) {
            storage.set_data_ptr_noswap(data);
        }
    }

    /** Lets the backward pass gather the unit before it comes to it. */
    void watch(Tensor output) {
        if (output.is_alias_of(whole)) {
            throw TorchTensors.usage(
                    "unit '"
                            + name()
                            + "' returned a view of its parameters, which are released now; return"
                            + " a clone()");
        }
        if (output.requires_grad()) {
            output.register_hook(outputHook);
        }
    }

    /** Copies a gradient to the memory that is reduced. */
    void take(int index, TensorBase gradient) {
        Member member = members.get(index);
        if (!inBackward) {
            throw TorchTensors.usage(
                    "the backward pass reached parameter '"
                            + member.name
                            + "' other than through the result of run(\""
                            + name()
                            + "\"), so its unit was not gathered");
        }
        if (member.arrived || reduced) {
            throw TorchTensors.usage(
                    "parameter '"
                            + member.name
                            + "' got a gradient twice; call backward() or finish() once for each"
                            + " backward pass");
        }
        try (Tensor values = new Tensor(gradient);
                Tensor place =
                        TorchTensors.view(
                                unit.gradient(member.name), TorchTensors.shape(member.place))) {
            if (values.scalar_type().intern() != place.scalar_type().intern()
                    || !Arrays.equals(TorchTensors.shape(values), TorchTensors.shape(place))) {
                throw TorchTensors.usage(
                        "the gradient of '" + member.name + "' has another type or shape");
            }
            try (Tensor plain = values.detach()) {
                place.copy_(plain);
            }
        }
        member.arrived = true;
    }

    /** Deletes the gradient that PyTorch has added to the parameter; returns whether all came. */
    boolean clear(int index) {
        members.get(index).parameter.mutable_grad().reset();
        return members.stream().allMatch(member -> member.arrived);
    }

    /** Sends the gradients, once in a pass. A parameter without a gradient counts as zero. */
    void reduce() {
        if (!reduced) {
            unit.gradient(members.get(0).name);
            unit.reduce();
            reduced = true;
        }
        inBackward = false;
        releaseUnused();
    }

    /** Whether the backward pass came here since the last {@link #endPass}. */
    boolean isInPass() {
        return inBackward || reduced || members.stream().anyMatch(member -> member.arrived);
    }

    void endPass(org.jccl.Tensor gradients) {
        reduced = false;
        members.forEach(member -> member.arrived = false);
        try (Tensor averages = TorchTensors.view(gradients);
                Tensor earlier = shard.grad()) {
            if (earlier.defined()) {
                earlier.add_(averages);
            } else {
                shard.mutable_grad().put(averages.clone());
            }
        }
    }

    /** Removes the hooks. The parameters have no elements from now on. */
    @Override
    public void close() {
        outputHook.remove();
        detach();
        for (Member member : members) {
            member.hook.remove();
            member.place.close();
        }
        // Its memory is freed. An optimizer may still have it.
        shard.set_data(none);
        shard.close();
        none.close();
        whole.close();
    }
}
