package org.jccl.lightgbm;

import com.microsoft.ml.lightgbm.SWIGTYPE_p_void;
import com.microsoft.ml.lightgbm.lightgbmlib;
import com.sun.jna.Callback;
import com.sun.jna.CallbackReference;
import com.sun.jna.Function;
import com.sun.jna.Pointer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.IntStream;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.OperationTimeoutException;
import org.jccl.PeerLostException;
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

    /** How long to look for the ranks that do not come, after an operation has timed out. */
    private static final Duration SEARCH = Duration.ofSeconds(10);

    private final ProcessGroup group;
    private final ReduceScatter reduceScatter = this::reduceScatter;
    private final AllGather allGather = this::allGather;

    /** Used by LightGBM's thread only. */
    private Tensor received = Tensor.allocate(Device.CPU, DataType.UINT8, 1);

    /**
     * If there are 4, 8, 16, ... ranks, a group with each rank whose number differs in one bit,
     * from the highest bit on; else empty. LightGBM's own network does the same, and by it each
     * rank sends two messages of 4 ranks where it would send three.
     */
    private final List<ProcessGroup> pairs;

    private LightGbmNetwork(ProcessGroup group) {
        this.group = group;
        this.pairs = pairs(group);
    }

    private static List<ProcessGroup> pairs(ProcessGroup group) {
        List<ProcessGroup> pairs = new ArrayList<>();
        if (group.size() > 2 && Integer.bitCount(group.size()) == 1) {
            for (int distance = group.size() / 2; distance > 0; distance /= 2) {
                int first = group.rank() & ~distance;
                pairs.add(group.newGroup(List.of(first, first + distance)).orElseThrow());
            }
        }
        return pairs;
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
     * @throws JcclException if groups of two ranks, of which 4, 8, 16, ... ranks need some, do not
     *     form in time
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
        boolean accepted = false;
        try {
            int result =
                    lightgbmlib.LGBM_NetworkInitWithFunctions(
                            group.size(),
                            group.rank(),
                            new FunctionPointer(network.reduceScatter),
                            new FunctionPointer(network.allGather));
            if (result != 0) {
                throw refused();
            }
            accepted = true;
            return network;
        } finally {
            if (!accepted) { // also if LightGBM's library was not loaded
                OPEN.remove(network);
                network.release();
            }
        }
    }

    private static UsageException refused() {
        return new UsageException(
                FailureContext.NONE, "LightGBM: " + lightgbmlib.LGBM_GetLastError());
    }

    /** Memory of LightGBM with a block for each rank; the blocks may differ in size. */
    private record Blocks(Pointer memory, int[] starts, int[] lengths) {

        static Blocks of(Pointer memory, Pointer starts, Pointer lengths, int count) {
            return new Blocks(memory, starts.getIntArray(0, count), lengths.getIntArray(0, count));
        }

        /** The blocks of some consecutive ranks. */
        Tensor of(int first, int count) {
            long bytes = 0;
            for (int i = first; i < first + count; i++) {
                if (starts[i] != starts[first] + bytes) {
                    // LightGBM's own network relies on this too.
                    throw new IllegalStateException(
                            "in LightGBM's memory the block of rank "
                                    + i
                                    + " does not follow that of rank "
                                    + (i - 1));
                }
                bytes += lengths[i];
            }
            return view(memory.share(starts[first]), bytes);
        }

        List<Tensor> each() {
            return IntStream.range(0, starts.length).mapToObj(rank -> of(rank, 1)).toList();
        }
    }

    /** Each rank gets its block of all ranks' inputs, reduced. */
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
                    Blocks all = Blocks.of(input, starts, lengths, blocks);
                    // A reference to a pointer to a function.
                    Function add = Function.getFunction(reducer.getPointer(0));
                    if (pairs.isEmpty()) {
                        reduceInRankOrder(all, typeSize, output, add);
                    } else {
                        reduceByHalves(all, typeSize, output, add);
                    }
                });
    }

    private void reduceInRankOrder(Blocks input, int typeSize, Pointer output, Function add) {
        int mine = input.lengths[group.rank()];
        Tensor received = received((long) group.size() * mine);
        List<Tensor> outputs = new ArrayList<>();
        for (int rank = 0; rank < group.size(); rank++) {
            outputs.add(received.slice((long) rank * mine, mine));
        }
        group.sync().allToAll(outputs, input.each());
        view(output, mine).copyFrom(outputs.get(0));
        for (int rank = 1; rank < group.size(); rank++) {
            add(add, outputs.get(rank), view(output, mine), typeSize);
        }
    }

    /**
     * In LightGBM's own order of sums: the input is reduced in its memory, and each step halves the
     * blocks that this rank still has to reduce.
     */
    private void reduceByHalves(Blocks input, int typeSize, Pointer output, Function add) {
        int half = group.size();
        for (ProcessGroup pair : pairs) {
            half /= 2;
            Tensor sum = input.of(firstOf(group.rank(), half), half);
            Tensor received = received(sum.count()).slice(0, sum.count());
            exchange(pair, input.of(firstOf(group.rank() ^ half, half), half), received);
            add(add, received, sum, typeSize);
        }
        Tensor sum = input.of(group.rank(), 1);
        view(output, sum.count()).copyFrom(sum);
    }

    private static void add(Function add, Tensor from, Tensor to, int typeSize) {
        add.invokeVoid(
                new Object[] {
                    new Pointer(from.address()),
                    new Pointer(to.address()),
                    typeSize,
                    (int) to.count()
                });
    }

    private void allGather(
            Pointer input,
            int inputSize,
            Pointer starts,
            Pointer lengths,
            int blocks,
            Pointer output,
            int outputSize) {
        endOnFailure(
                () -> {
                    Blocks all = Blocks.of(output, starts, lengths, blocks);
                    Tensor own = view(input, inputSize);
                    if (pairs.isEmpty()) {
                        group.sync().allGather(all.each(), own);
                    } else {
                        gatherByDoubling(all, own);
                    }
                });
    }

    private void gatherByDoubling(Blocks output, Tensor own) {
        output.of(group.rank(), 1).copyFrom(own);
        int known = 1;
        for (int i = pairs.size() - 1; i >= 0; i--) {
            exchange(
                    pairs.get(i),
                    output.of(firstOf(group.rank(), known), known),
                    output.of(firstOf(group.rank() ^ known, known), known));
            known *= 2;
        }
    }

    /** If ranks are divided into parts of a size, the first rank of the part with this one. */
    private static int firstOf(int rank, int size) {
        return rank / size * size;
    }

    private static void exchange(ProcessGroup pair, Tensor sent, Tensor received) {
        Tensor none = sent.slice(0, 0);
        boolean first = pair.rank() == 0;
        pair.sync()
                .allToAll(
                        first ? List.of(none, received) : List.of(received, none),
                        first ? List.of(none, sent) : List.of(sent, none));
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
    private void endOnFailure(Runnable operation) {
        try {
            operation.run();
        } catch (Throwable e) {
            Throwable cause = e instanceof JcclException known ? firstCause(known) : e;
            System.err.println("LightGBM's network failed, so this process ends: " + cause);
            Runtime.getRuntime().halt(cause instanceof JcclException known ? known.exitCode() : 1);
        }
    }

    /** The other rank of a pair may have ended, or not come, because of another rank. */
    private JcclException firstCause(JcclException ofPair) {
        try {
            if (!pairs.isEmpty() && ofPair instanceof PeerLostException) {
                group.sync().barrier();
            } else if (!pairs.isEmpty() && ofPair instanceof OperationTimeoutException) {
                group.monitoredBarrier(SEARCH, true);
            }
            return ofPair;
        } catch (JcclException ofAll) {
            return ofAll;
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
            release();
        }
    }

    private void release() {
        received.close();
        pairs.forEach(ProcessGroup::close);
    }
}
