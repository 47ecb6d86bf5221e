package org.jccl.lightgbm;

import com.microsoft.ml.lightgbm.SWIGTYPE_p_void;
import com.microsoft.ml.lightgbm.lightgbmlib;
import com.sun.jna.Callback;
import com.sun.jna.CallbackReference;
import com.sun.jna.Function;
import com.sun.jna.Pointer;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.ProcessGroup;
import org.jccl.Tensor;
import org.jccl.UsageException;

/**
 * Makes a process group the network of LightGBM, in place of its own sockets: LightGBM needs no
 * list of machines and no ports. Pass {@code num_machines} (the size of the group), a parallel
 * {@code tree_learner} and {@code pre_partition=true} in the parameters of the dataset and the
 * booster.
 *
 * <p>LightGBM keeps its network by thread. Create this object, datasets and boosters, train, and
 * close this object on one thread. Nothing else may use the group meanwhile.
 *
 * <p><b>Ends the process.</b> The functions that LightGBM calls cannot fail: after a return,
 * LightGBM would train with undefined numbers. So if a rank is lost or an operation times out, the
 * cause is written to standard error and the process ends with the exit code of the exception. A
 * launcher can then start all ranks again.
 */
public final class LightGbmNetwork implements AutoCloseable {

    /** {@code void (*)(char*, int, int, const int*, const int*, int, char*, int, reducer&)}. */
    private interface ReduceScatter extends Callback {
        @SuppressWarnings("unused") // LightGBM calls it
        void invoke(
                Pointer input,
                int inputSize,
                int typeSize,
                Pointer starts,
                Pointer lengths,
                int blocks,
                Pointer output,
                int outputSize,
                Pointer reducer);
    }

    /** {@code void (*)(char*, int, const int*, const int*, int, char*, int)}. */
    private interface AllGather extends Callback {
        @SuppressWarnings("unused") // LightGBM calls it
        void invoke(
                Pointer input,
                int inputSize,
                Pointer starts,
                Pointer lengths,
                int blocks,
                Pointer output,
                int outputSize);
    }

    /** A pointer as LightGBM's Java API takes it. */
    private static final class FunctionPointer extends SWIGTYPE_p_void {
        FunctionPointer(Callback callback) {
            super(Pointer.nativeValue(CallbackReference.getFunctionPointer(callback)), false);
        }
    }

    /** JNA frees the function of a callback that is not reachable, and LightGBM would call it. */
    private static final Set<LightGbmNetwork> OPEN = ConcurrentHashMap.newKeySet();

    private final ProcessGroup group;
    private final ReduceScatter reduceScatter = this::reduceScatter;
    private final AllGather allGather = this::allGather;

    /** Used by LightGBM's thread only. */
    private Tensor received = Tensor.allocate(Device.CPU, DataType.UINT8, 1);

    private LightGbmNetwork(ProcessGroup group) {
        this.group = group;
    }

    /**
     * Makes a group the network of LightGBM on the calling thread. LightGBM's native library must
     * be loaded, as {@code LGBMBooster.loadNative()} does. All ranks of the group call it.
     *
     * @param group a group with a backend for tensors on the CPU, for instance Gloo; it stays the
     *     caller's, who closes it after this object
     * @return the network, to be closed on the same thread
     * @throws UsageException if the group is null, has no backend for the CPU, or LightGBM refuses
     *     it
     */
    public static LightGbmNetwork of(ProcessGroup group) {
        if (group == null) {
            throw new UsageException(FailureContext.NONE, "group is null");
        }
        if (group.backend("cpu").isEmpty()) {
            throw new UsageException(
                    FailureContext.NONE, group + " has no backend for the CPU, for instance gloo");
        }
        LightGbmNetwork network = new LightGbmNetwork(group);
        OPEN.add(network);
        int result =
                lightgbmlib.LGBM_NetworkInitWithFunctions(
                        group.size(),
                        group.rank(),
                        new FunctionPointer(network.reduceScatter),
                        new FunctionPointer(network.allGather));
        if (result != 0) {
            OPEN.remove(network);
            network.received.close();
            throw refused();
        }
        return network;
    }

    private static UsageException refused() {
        return new UsageException(
                FailureContext.NONE, "LightGBM: " + lightgbmlib.LGBM_GetLastError());
    }

    /** Each rank gets its block of all ranks' inputs, reduced in rank order. */
    private void reduceScatter(
            Pointer input,
            int inputSize,
            int typeSize,
            Pointer starts,
            Pointer lengths,
            int blocks,
            Pointer output,
            int outputSize,
            Pointer reducer) {
        endOnFailure(
                () -> {
                    int mine = lengths.getInt((long) Integer.BYTES * group.rank());
                    List<Tensor> inputs = blocks(input, starts, lengths, blocks);
                    Tensor received = received((long) blocks * mine);
                    List<Tensor> outputs = new ArrayList<>();
                    for (int rank = 0; rank < blocks; rank++) {
                        outputs.add(received.slice((long) rank * mine, mine));
                    }
                    group.sync().allToAll(outputs, inputs);
                    view(output, mine).copyFrom(outputs.get(0));
                    // A reference to a pointer to a function.
                    Function add = Function.getFunction(reducer.getPointer(0));
                    for (int rank = 1; rank < blocks; rank++) {
                        Pointer each = new Pointer(outputs.get(rank).address());
                        add.invokeVoid(new Object[] {each, output, typeSize, mine});
                    }
                });
    }

    /** The blocks of the ranks may differ in size. */
    private void allGather(
            Pointer input,
            int inputSize,
            Pointer starts,
            Pointer lengths,
            int blocks,
            Pointer output,
            int outputSize) {
        endOnFailure(
                () ->
                        group.sync()
                                .allGather(
                                        blocks(output, starts, lengths, blocks),
                                        view(input, inputSize)));
    }

    private static List<Tensor> blocks(Pointer memory, Pointer starts, Pointer lengths, int count) {
        List<Tensor> blocks = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            long at = (long) Integer.BYTES * i;
            blocks.add(view(memory.share(starts.getInt(at)), lengths.getInt(at)));
        }
        return blocks;
    }

    /** Borrows memory of LightGBM, which it keeps until its call returns. */
    private static Tensor view(Pointer memory, long bytes) {
        return Tensor.of(Pointer.nativeValue(memory), bytes, DataType.UINT8, Device.CPU, null);
    }

    /** Returns memory that is kept for the next call. */
    private Tensor received(long bytes) {
        if (received.count() < bytes) {
            received.close();
            received = Tensor.allocate(Device.CPU, DataType.UINT8, bytes);
        }
        return received;
    }

    /** JNA would print what is thrown, and LightGBM would continue. */
    private static void endOnFailure(Runnable operation) {
        try {
            operation.run();
        } catch (Throwable e) {
            System.err.println("LightGBM's network failed, so this process ends: " + e);
            Runtime.getRuntime().halt(e instanceof JcclException known ? known.exitCode() : 1);
        }
    }

    /**
     * Takes the group from LightGBM. Idempotent.
     *
     * @throws UsageException if LightGBM refuses it
     */
    @Override
    public void close() {
        if (OPEN.contains(this)) {
            if (lightgbmlib.LGBM_NetworkFree() != 0) {
                throw refused();
            }
            OPEN.remove(this);
            received.close();
        }
    }
}
