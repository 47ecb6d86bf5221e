package org.jccl.training;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.UsageException;

/**
 * Builder of a {@link GradientReducer}. All ranks must register the same gradients and options in
 * the same order. Not thread-safe.
 */
public final class GradientReducerBuilder {

    private static final long FIRST_BUCKET_BYTES = 1 << 20;
    private static final long BUCKET_BYTES = 25 << 20;

    final ProcessGroup group;
    private final List<Gradient> gradients = new ArrayList<>();
    private final Set<String> names = new HashSet<>();
    private Device device;
    long firstBucketBytes = FIRST_BUCKET_BYTES;
    long bucketBytes = BUCKET_BYTES;
    boolean average = true;
    boolean unused;
    boolean unevenInputs;
    private boolean rebuildBuckets = true;
    DataType wireType;
    Runnable onRebuild;
    BucketMemory bucketMemory;

    GradientReducerBuilder(ProcessGroup group) {
        this.group = group;
        if (group == null) {
            throw usage("group is null");
        }
        bucketMemory = group::allocate;
    }

    /**
     * Registers a gradient in the program's memory.
     *
     * @param name the name for messages, usually that of the parameter
     * @param gradient its elements, of a floating point type. The tensor must stay open as long as
     *     the reducer is used and must not overlap another gradient
     * @return this builder
     * @throws UsageException if an argument is null, the name is already registered, or the type is
     *     not a floating point type
     */
    public GradientReducerBuilder gradient(String name, Tensor gradient) {
        if (gradient == null) {
            throw usage("the gradient of '" + name + "' is null");
        }
        if (device == null) {
            device = gradient.device();
        }
        return add(new Gradient(name, gradient.dataType(), gradient.count(), gradient));
    }

    /**
     * Registers a gradient that exists only in its bucket, see {@link GradientReducer#bucketView}.
     *
     * @param name the name for messages, usually that of the parameter
     * @param type the type of its elements, a floating point type
     * @param count the number of elements
     * @return this builder
     * @throws UsageException if an argument is null, the name is already registered, the type is
     *     not a floating point type, or the count is negative
     */
    public GradientReducerBuilder gradient(String name, DataType type, long count) {
        if (count < 0) {
            throw usage("the gradient of '" + name + "' has " + Counted.of(count, "element"));
        }
        return add(new Gradient(name, type, count, null));
    }

    private GradientReducerBuilder add(Gradient gradient) {
        if (gradient.name == null) {
            throw usage("name of gradient " + gradients.size() + " is null");
        }
        if (gradient.type == null || !gradient.type.isFloatingPoint()) {
            throw usage(
                    "the gradient of '"
                            + gradient.name
                            + "' is of "
                            + gradient.type
                            + "; only floating point types can be averaged");
        }
        if (!names.add(gradient.name)) {
            throw usage("'" + gradient.name + "' is registered twice");
        }
        gradients.add(gradient);
        return this;
    }

    /**
     * Sets the device of the gradients.
     *
     * @param where a device of the group; by default the device of the first registered tensor, or
     *     else the group's first device
     * @return this builder
     * @throws UsageException if it is null
     */
    public GradientReducerBuilder device(Device where) {
        if (where == null) {
            throw usage("device is null");
        }
        device = where;
        return this;
    }

    /**
     * Sets the size at which the first bucket is full.
     *
     * @param bytes more than 0; 1 MiB by default, so that communication begins early
     * @return this builder
     * @throws UsageException if it is not more than 0
     */
    public GradientReducerBuilder firstBucketBytes(long bytes) {
        firstBucketBytes = positive("firstBucketBytes", bytes);
        return this;
    }

    /**
     * Sets the size at which each further bucket is full.
     *
     * @param bytes more than 0; 25 MiB by default
     * @return this builder
     * @throws UsageException if it is not more than 0
     */
    public GradientReducerBuilder bucketBytes(long bytes) {
        bucketBytes = positive("bucketBytes", bytes);
        return this;
    }

    private long positive(String name, long bytes) {
        if (bytes <= 0) {
            throw usage(name + " must be more than 0, got " + bytes);
        }
        return bytes;
    }

    /**
     * Sets whether gradients are averaged or only summed.
     *
     * @param divide true, the default, to divide the sum by the number of ranks
     * @return this builder
     */
    public GradientReducerBuilder average(boolean divide) {
        average = divide;
        return this;
    }

    /**
     * Rounds gradients to a 16-bit type for communication, which halves the messages. Supported for
     * float32 gradients on the CPU. The sum is computed in that type too. With float16 each rank
     * divides before the sum, as PyTorch does, because the sum may overflow although the average is
     * finite.
     *
     * @param type {@link DataType#BFLOAT16} or {@link DataType#FLOAT16}
     * @return this builder
     * @throws UsageException if it is another type
     */
    public GradientReducerBuilder wireType(DataType type) {
        if (type != DataType.BFLOAT16 && type != DataType.FLOAT16) {
            throw usage("wireType must be bfloat16 or float16, got " + type);
        }
        wireType = type;
        return this;
    }

    /**
     * Sets whether a step may leave gradients unused, like PyTorch's {@code
     * find_unused_parameters}. A gradient that a rank does not use counts as zero there, and the
     * rank receives the average. A gradient that no rank used is unchanged, or zero if it exists
     * only in its bucket. This adds one small operation per step, for which the host waits, and
     * disables rebuilding of the buckets.
     *
     * @param allowed false by default
     * @return this builder
     */
    public GradientReducerBuilder unusedGradients(boolean allowed) {
        unused = allowed;
        return this;
    }

    /**
     * Sets whether ranks may have different numbers of batches, see {@link GradientReducer#join}.
     * This adds one small operation per step, which overlaps with the reductions.
     *
     * @param allowed false by default
     * @return this builder
     */
    public GradientReducerBuilder unevenInputs(boolean allowed) {
        unevenInputs = allowed;
        return this;
    }

    /**
     * Sets whether buckets are rebuilt after the first step, in the order in which gradients became
     * ready on rank 0. If gradients exist only in their buckets, rebuilding also requires {@link
     * #onRebuild}.
     *
     * @param wanted true by default
     * @return this builder
     */
    public GradientReducerBuilder rebuildBuckets(boolean wanted) {
        rebuildBuckets = wanted;
        return this;
    }

    /**
     * Sets an action to run after the buckets were rebuilt. The old {@linkplain
     * GradientReducer#bucketView views} are invalid then, and the caller must request new ones.
     * Their contents were copied.
     *
     * @param action called by the thread that is in {@code finish} or {@code join}
     * @return this builder
     * @throws UsageException if it is null
     */
    public GradientReducerBuilder onRebuild(Runnable action) {
        if (action == null) {
            throw usage("action is null");
        }
        onRebuild = action;
        return this;
    }

    /**
     * Sets the allocator of the buckets' memory, for the first layout and for the rebuilt one.
     *
     * @param allocator by default {@link ProcessGroup#allocate}; may differ between ranks, unless
     *     the group registers windows
     * @return this builder
     * @throws UsageException if it is null
     */
    public GradientReducerBuilder bucketMemory(BucketMemory allocator) {
        if (allocator == null) {
            throw usage("allocator is null");
        }
        bucketMemory = allocator;
        return this;
    }

    boolean rebuilds(List<Gradient> registered) {
        return rebuildBuckets
                && !unused
                && (onRebuild != null
                        || registered.stream().allMatch(gradient -> gradient.own != null));
    }

    /**
     * Builds the reducer. All ranks must call it, because they compare their registered gradients
     * and options.
     *
     * @return the reducer, which the caller must close
     * @throws UsageException if no gradient is registered, a gradient overlaps another or is on
     *     another device, the wire type is not supported, or {@link #bucketMemory} returned a
     *     tensor of another device, type or count
     * @throws DifferentModelsException if ranks registered different gradients or options. All
     *     ranks throw it, and the message names the first difference
     * @throws JcclException if the comparison fails
     */
    public GradientReducer build() {
        if (gradients.isEmpty()) {
            throw usage("no gradient was registered");
        }
        Device where = device == null ? group.devices().get(0) : device;
        List<Gradient> registered = List.copyOf(gradients);
        checkMemory(where, registered);
        checkWire(where, registered);
        ModelCheck.requireSame(
                group,
                where,
                description(registered),
                "all ranks must register the same gradients in the same order, with the same"
                        + " options");
        return new GradientReducer(copy(), where, fresh(registered));
    }

    /** Copies the gradients, so that one builder can build several reducers. */
    private static List<Gradient> fresh(List<Gradient> registered) {
        return registered.stream().map(g -> new Gradient(g.name, g.type, g.count, g.own)).toList();
    }

    private GradientReducerBuilder copy() {
        GradientReducerBuilder copy = new GradientReducerBuilder(group);
        copy.firstBucketBytes = firstBucketBytes;
        copy.bucketBytes = bucketBytes;
        copy.average = average;
        copy.unused = unused;
        copy.unevenInputs = unevenInputs;
        copy.rebuildBuckets = rebuildBuckets;
        copy.wireType = wireType;
        copy.onRebuild = onRebuild;
        copy.bucketMemory = bucketMemory;
        return copy;
    }

    private void checkMemory(Device where, List<Gradient> registered) {
        List<Gradient> own = new ArrayList<>();
        for (Gradient gradient : registered) {
            if (gradient.own != null) {
                if (!gradient.own.device().equals(where)) {
                    throw usage(
                            "the gradient of "
                                    + gradient
                                    + " is on "
                                    + gradient.own.device()
                                    + ", others are on "
                                    + where);
                }
                if (gradient.count > 0) {
                    own.add(gradient);
                }
            }
        }
        own.sort(Comparator.comparingLong(gradient -> gradient.own.address()));
        for (int i = 1; i < own.size(); i++) {
            Gradient before = own.get(i - 1);
            if (before.own.address() + before.byteSize() > own.get(i).own.address()) {
                throw usage(
                        "the gradients of "
                                + before
                                + " and "
                                + own.get(i)
                                + " overlap in memory; register a gradient that parameters share"
                                + " only once");
            }
        }
    }

    private void checkWire(Device where, List<Gradient> registered) {
        if (wireType == null) {
            return;
        }
        if (!where.isCpu()) {
            throw usage("wireType is for gradients on the CPU, these are on " + where);
        }
        for (Gradient gradient : registered) {
            if (gradient.type != DataType.FLOAT32) {
                throw usage("wireType is for float32 gradients, not for " + gradient);
            }
        }
    }

    /**
     * Returns the options and gradients that must be equal on all ranks; the gradients start at
     * line 1.
     */
    private List<String> description(List<Gradient> registered) {
        List<String> lines = new ArrayList<>();
        lines.add(
                "options "
                        + List.of(
                                "firstBucketBytes " + firstBucketBytes,
                                "bucketBytes " + bucketBytes,
                                average ? ReduceOp.AVG : ReduceOp.SUM,
                                "wireType " + wireType,
                                "unusedGradients " + unused,
                                "unevenInputs " + unevenInputs,
                                "rebuildBuckets " + rebuilds(registered)));
        for (int i = 0; i < registered.size(); i++) {
            String name = registered.get(i).toString().replace('\n', ' ');
            lines.add("gradient " + i + " " + name);
        }
        return lines;
    }

    private UsageException usage(String message) {
        return new UsageException(
                group == null
                        ? FailureContext.NONE
                        : FailureContext.ofGroup(group.name(), group.rank()),
                message);
    }
}
