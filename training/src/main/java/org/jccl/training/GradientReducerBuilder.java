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
 * What a {@link GradientReducer} is made of. All ranks give the same, in the same order. Not safe
 * for use by several threads.
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
    BucketMemory bucketMemory = Tensor::allocate;

    GradientReducerBuilder(ProcessGroup group) {
        this.group = group;
        if (group == null) {
            throw usage("group is null");
        }
    }

    /**
     * Registers a gradient that lies in the program's memory.
     *
     * @param name names it in messages, as does the parameter's
     * @param gradient its elements, of a floating point type; must stay open as long as the reducer
     *     is used, and overlap no other
     * @return this builder
     * @throws UsageException when an argument is null, the name was registered before, or the type
     *     is another one
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
     * Registers a gradient that lives in its bucket: {@link GradientReducer#bucketView}.
     *
     * @param name names it in messages, as does the parameter's
     * @param type of its elements, a floating point type
     * @param count number of elements
     * @return this builder
     * @throws UsageException when an argument is null, the name was registered before, the type is
     *     another one, or the count is negative
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
     * Where the gradients are.
     *
     * @param where a device of the group; by default that of the first tensor that is registered,
     *     or the group's first one
     * @return this builder
     * @throws UsageException when it is null
     */
    public GradientReducerBuilder device(Device where) {
        if (where == null) {
            throw usage("device is null");
        }
        device = where;
        return this;
    }

    /**
     * Size from which on the first bucket is full.
     *
     * @param bytes more than 0; 1 MB by default, so that communication begins early
     * @return this builder
     * @throws UsageException when it is not more than 0
     */
    public GradientReducerBuilder firstBucketBytes(long bytes) {
        firstBucketBytes = positive("firstBucketBytes", bytes);
        return this;
    }

    /**
     * Size from which on the other buckets are full.
     *
     * @param bytes more than 0; 25 MB by default
     * @return this builder
     * @throws UsageException when it is not more than 0
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
     * Whether gradients are averaged or only summed.
     *
     * @param divide true, the default, for the average over all ranks
     * @return this builder
     */
    public GradientReducerBuilder average(boolean divide) {
        average = divide;
        return this;
    }

    /**
     * Rounds gradients for the way between the ranks, which halves the messages. For float32
     * gradients on the CPU. The sum is made in that type too; averages in float16 are divided
     * before it, as PyTorch's are, since the sum may be infinite where the average is not.
     *
     * @param type {@link DataType#BFLOAT16} or {@link DataType#FLOAT16}
     * @return this builder
     * @throws UsageException when it is another one
     */
    public GradientReducerBuilder wireType(DataType type) {
        if (type != DataType.BFLOAT16 && type != DataType.FLOAT16) {
            throw usage("wireType must be bfloat16 or float16, got " + type);
        }
        wireType = type;
        return this;
    }

    /**
     * Whether a step may leave gradients out, as PyTorch's {@code find_unused_parameters}. A
     * gradient that a rank leaves out counts as zero there, and gets the average as on the other
     * ranks. A gradient that no rank had stays as it is, or becomes zero if it lives in its bucket.
     * Costs a small operation more a step, which the host waits for, and buckets are not made anew.
     *
     * @param allowed false by default
     * @return this builder
     */
    public GradientReducerBuilder unusedGradients(boolean allowed) {
        unused = allowed;
        return this;
    }

    /**
     * Whether ranks may have different numbers of batches: see {@link GradientReducer#join}. Costs
     * a small operation more a step, which nobody waits for.
     *
     * @param allowed false by default
     * @return this builder
     */
    public GradientReducerBuilder unevenInputs(boolean allowed) {
        unevenInputs = allowed;
        return this;
    }

    /**
     * Whether buckets are made anew after the first step, by the order in which gradients came on
     * rank 0. Where gradients live in their buckets, this also takes {@link #onRebuild}.
     *
     * @param wanted true by default
     * @return this builder
     */
    public GradientReducerBuilder rebuildBuckets(boolean wanted) {
        rebuildBuckets = wanted;
        return this;
    }

    /**
     * Takes notice that buckets were made anew: all {@linkplain GradientReducer#bucketView views}
     * have to be asked for again, as the memory of the old ones is free. What was in them has been
     * copied.
     *
     * @param action called within {@code finish}, or {@code join}, by its thread
     * @return this builder
     * @throws UsageException when it is null
     */
    public GradientReducerBuilder onRebuild(Runnable action) {
        if (action == null) {
            throw usage("action is null");
        }
        onRebuild = action;
        return this;
    }

    /**
     * Where buckets get their memory, at the beginning and when they are made anew.
     *
     * @param allocator by default {@link Tensor#allocate}; may differ between ranks
     * @return this builder
     * @throws UsageException when it is null
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
     * Makes the reducer. All ranks call it: they compare what they registered.
     *
     * @return the reducer, to be closed
     * @throws UsageException when no gradient was registered, one overlaps another or is on another
     *     device, the wire type does not fit, or {@link #bucketMemory} gave another tensor than it
     *     was asked for
     * @throws DifferentModelsException when ranks registered different gradients or options; all
     *     ranks throw it, and name the first that differs
     * @throws JcclException when the ranks can not be compared
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

    /** So that one builder can make several reducers. */
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
                                + " overlap in memory; register what parameters share once");
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

    /** Everything that must be the same on all ranks; the gradients from line 1 on. */
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
