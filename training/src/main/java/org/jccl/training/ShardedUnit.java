package org.jccl.training;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jccl.JcclException;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.jccl.Work;

/**
 * Parameters that are gathered and reduced together, for example a layer: one flat sequence of
 * elements, divided into one part per rank. Owned by {@link ShardedParameters}; not thread-safe.
 */
public final class ShardedUnit {

    /** The position of a parameter's elements in the unit. */
    private record Range(List<Long> shape, long offset, long count) {}

    private final ShardedParameters owner;
    private final String name;
    private final Map<String, Range> ranges = new LinkedHashMap<>();

    /** Number of elements of all ranks' parts, which have the same size. */
    private final long padded;

    /** First element of this rank's part, and the number of its elements without padding. */
    private final long start;

    private final long length;

    /** This rank's part, with padding. */
    private final Tensor parameters;

    private final Tensor gradients;

    /** Memory of the whole parameters, or null. */
    private WholeUnits.Piece wholeParameters;

    private WholeUnits.Piece wholeGradients;

    /** Whether the whole parameters are up to date, or will be after {@link #gathering}. */
    private boolean gathered;

    private Work gathering;

    /** Whether the whole gradients are those of this step. */
    private boolean collects;

    private Work reducing;
    private boolean reduced;
    private final Map<String, Tensor> parameterViews = new LinkedHashMap<>();
    private final Map<String, Tensor> gradientViews = new LinkedHashMap<>();

    ShardedUnit(ShardedParameters owner, String name, List<NamedTensor> given) {
        this.owner = owner;
        this.name = name;
        long count = 0;
        for (NamedTensor each : given) {
            ranges.put(each.name(), new Range(each.shape(), count, each.tensor().count()));
            count += each.tensor().count();
        }
        ProcessGroup group = owner.group();
        long part = (count + group.size() - 1) / group.size();
        padded = part * group.size();
        start = Math.min(part * group.rank(), count);
        length = Math.min(part, count - start);
        parameters = owner.allocate(part);
        gradients = owner.allocate(part);
    }

    static long padded(ProcessGroup group, List<NamedTensor> given) {
        long count = given.stream().mapToLong(each -> each.tensor().count()).sum();
        return (count + group.size() - 1) / group.size() * group.size();
    }

    /** Starts with rank 0's parameters. */
    void begin(List<NamedTensor> given) {
        takeParameters();
        Tensor whole = wholeParameters.memory.slice(0, padded);
        owner.zeros().writeTo(whole);
        for (NamedTensor each : given) {
            whole.slice(ranges.get(each.name()).offset, each.tensor().count())
                    .copyFrom(each.tensor());
        }
        owner.group().broadcast(whole, 0).await();
        long part = parameters.count();
        parameters.copyFrom(whole.slice(part * owner.group().rank(), part));
        gathered = true;
        release();
    }

    /**
     * Returns the unit's name.
     *
     * @return the name that was passed to {@link ShardedParametersBuilder#unit}
     */
    public String name() {
        return name;
    }

    /**
     * Returns the names of the unit's parameters.
     *
     * @return the names in the order in which they were added
     */
    public List<String> parameterNames() {
        return List.copyOf(ranges.keySet());
    }

    /**
     * Starts to gather the unit's parameters, so that communication overlaps with the computation
     * of another unit. Does nothing if they are whole. All ranks must call it at the same point.
     * Issues an {@link ProcessGroup#allGatherSingle}; on devices it is ordered after the work on
     * the current stream.
     *
     * @throws UsageException if the maximum number of units ({@link
     *     ShardedParametersBuilder#wholeUnits}) is already whole, or the owner is closed or has
     *     failed
     * @throws JcclException if the group has failed
     */
    public void prefetch() {
        owner.requireUsable();
        if (gathered) {
            return;
        }
        takeParameters();
        owner.guarded(
                () ->
                        gathering =
                                owner.group()
                                        .allGatherSingle(
                                                wholeParameters.memory.slice(0, padded),
                                                parameters));
        gathered = true;
    }

    private void takeParameters() {
        if (wholeParameters == null) {
            wholeParameters = taken(owner.parameterMemory(), "parameters", "release()");
        }
    }

    private WholeUnits.Piece taken(WholeUnits memory, String what, String how) {
        if (memory == null) {
            return new WholeUnits.Piece(owner.allocate(padded));
        }
        WholeUnits.Piece[] piece = new WholeUnits.Piece[1];
        owner.guarded(() -> piece[0] = memory.take());
        if (piece[0] == null) {
            throw owner.usage(
                    "no memory for the "
                            + what
                            + " of unit '"
                            + name
                            + "': the memory is in use by "
                            + memory.count()
                            + " other whole units; call "
                            + how
                            + " on one of them first, or raise wholeUnits()");
        }
        return piece[0];
    }

    /**
     * Gathers the unit's parameters, or waits for them if they were {@linkplain #prefetch
     * prefetched}. On the CPU the host waits; on devices the current stream waits.
     *
     * @throws UsageException as {@link #prefetch} does
     * @throws JcclException if the group has failed
     */
    public void gather() {
        prefetch();
        awaitGathering();
    }

    private void awaitGathering() {
        if (gathering != null) {
            owner.guarded(gathering::await);
            gathering = null;
        }
    }

    /**
     * Returns a whole parameter. The caller must only read it: the next gather overwrites it.
     *
     * @param parameter the name of the parameter
     * @return a tensor of the owner. If {@linkplain Sharding#PARAMETERS parameters are sharded},
     *     {@link #release} closes it. Otherwise it is valid until the owner is closed, and {@link
     *     #gather} updates it after a step
     * @throws UsageException if there is no such parameter, the unit is not gathered, or the owner
     *     is closed or has failed
     */
    public Tensor parameter(String parameter) {
        owner.requireUsable();
        Range range = range(parameter);
        if (!gathered || gathering != null) {
            throw owner.usage("unit '" + name + "' is not whole; call its gather() first");
        }
        return view(
                parameterViews,
                parameter,
                range,
                wholeParameters,
                owner.sharding().retainsParameters);
    }

    /**
     * Returns the tensor for the gradient of a parameter. The first call in a step zeroes the
     * gradients of the whole unit.
     *
     * @param parameter the name of the parameter
     * @return a tensor of the owner. If gradients are sharded, {@link #reduce} closes it. Otherwise
     *     it is valid until the owner is closed
     * @throws UsageException if there is no such parameter, the unit was reduced in this step, no
     *     memory is free, or the owner is closed or has failed
     * @throws JcclException if an earlier reduction that uses the memory failed
     */
    public Tensor gradient(String parameter) {
        owner.requireUsable();
        Range range = range(parameter);
        if (reducing != null || reduced) {
            throw owner.usage("unit '" + name + "' was reduced; call step() before new gradients");
        }
        if (!collects) {
            if (wholeGradients == null) {
                wholeGradients = taken(owner.gradientMemory(), "gradients", "reduce()");
            }
            owner.zeros().writeTo(wholeGradients.memory.slice(0, padded));
            collects = true;
        }
        return view(
                gradientViews, parameter, range, wholeGradients, owner.sharding().retainsGradients);
    }

    private Range range(String parameter) {
        Range range = ranges.get(parameter);
        if (range == null) {
            throw owner.usage(
                    "unit '"
                            + name
                            + "' has no parameter '"
                            + parameter
                            + "'; it has "
                            + ranges.keySet());
        }
        return range;
    }

    /** A view that is closed before its memory is given to another unit. */
    private static Tensor view(
            Map<String, Tensor> views,
            String parameter,
            Range range,
            WholeUnits.Piece piece,
            boolean stays) {
        return views.computeIfAbsent(
                parameter,
                any -> {
                    Tensor slice = piece.memory.slice(range.offset, range.count);
                    return stays
                            ? slice
                            : Tensor.of(
                                    slice.address(),
                                    slice.count(),
                                    slice.dataType(),
                                    slice.device(),
                                    piece.memory);
                });
    }

    private static void closeViews(Map<String, Tensor> views) {
        views.values().forEach(Tensor::close);
        views.clear();
    }

    /**
     * Starts to reduce the unit's gradients, so that each rank gets its part of the average or sum.
     * All ranks must call it at the same point, after the backward pass of the unit. Issues a
     * {@link ProcessGroup#reduceScatterSingle}; on devices it is ordered after the work on the
     * current stream.
     *
     * @throws MissingGradientException if the program requested none of the unit's gradients in
     *     this step
     * @throws UsageException if the unit was already reduced in this step, or the owner is closed
     *     or has failed
     * @throws JcclException if the group has failed
     */
    public void reduce() {
        owner.requireUsable();
        if (reducing != null || reduced) {
            throw owner.usage("unit '" + name + "' was reduced twice in one step");
        }
        if (!collects) {
            throw owner.missing(
                    "no gradient of unit '"
                            + name
                            + "' was written; write them to gradient(...) before reduce()");
        }
        Tensor whole = wholeGradients.memory.slice(0, padded);
        boolean divides = owner.dividesBefore();
        owner.guarded(
                () -> {
                    if (divides) {
                        new HalfDivision(whole).by(owner.group().size());
                    }
                    ReduceOp op = divides ? ReduceOp.SUM : owner.op();
                    reducing = owner.group().reduceScatterSingle(gradients, whole, op);
                });
        collects = false;
        if (!owner.sharding().retainsGradients) {
            closeViews(gradientViews);
            owner.gradientMemory().giveBack(wholeGradients, reducing);
            wholeGradients = null;
        }
    }

    boolean isReduced() {
        return reducing != null || reduced;
    }

    void awaitReducing() {
        if (reducing != null) {
            owner.guarded(reducing::await);
            reducing = null;
            reduced = true;
        }
    }

    /**
     * Releases the memory of the whole parameters for other units, and closes the tensors that
     * {@link #parameter} returned. On devices, work that is already on the current stream may still
     * read them. Idempotent; does nothing if parameters are not sharded.
     *
     * @throws JcclException if a gather was in flight and failed; this method waits for it
     */
    public void release() {
        if (!owner.sharding().retainsParameters && wholeParameters != null) {
            awaitGathering();
            closeViews(parameterViews);
            owner.parameterMemory().giveBack(wholeParameters, null);
            wholeParameters = null;
            gathered = false;
        }
    }

    /** Marks the whole parameters as out of date. */
    void changed() {
        reduced = false;
        if (owner.sharding().retainsParameters) {
            // Some libraries run several collectives at once, and both would write to this memory.
            awaitGathering();
            gathered = false;
            prefetch();
        } else {
            release();
        }
    }

    /**
     * Returns this rank's part of the parameters.
     *
     * @return the elements without padding; the last ranks may have fewer or none
     */
    public Tensor parameterShard() {
        return parameters.slice(0, length);
    }

    /**
     * Returns this rank's part of the gradients, after {@link ShardedParameters#awaitGradients}.
     *
     * @return the reduced elements, as many as {@link #parameterShard} has
     */
    public Tensor gradientShard() {
        return gradients.slice(0, length);
    }

    /**
     * Returns this rank's parts of the parameters, or of the optimizer's state for them, to be
     * saved in a {@link Checkpoint} or loaded from one. The number of ranks may change between the
     * two.
     *
     * @param prefix the text before the parameters' names; empty for the parameters themselves
     * @param flat {@link #parameterShard}, or a tensor of optimizer state with the same count
     * @return parts of {@code flat}; empty if this rank has none
     * @throws UsageException if an argument is null or the counts differ
     */
    public List<Shard> shards(String prefix, Tensor flat) {
        if (prefix == null || flat == null || flat.count() != length) {
            throw owner.usage(
                    "shards of unit '"
                            + name
                            + "' are of "
                            + length
                            + " elements, and prefix is not null; got "
                            + prefix
                            + " and "
                            + flat);
        }
        List<Shard> shards = new ArrayList<>();
        ranges.forEach(
                (parameter, range) -> {
                    long from = Math.max(start, range.offset);
                    long to = Math.min(start + length, range.offset + range.count);
                    if (from < to) {
                        shards.add(
                                new Shard(
                                        prefix + parameter,
                                        range.shape,
                                        from - range.offset,
                                        flat.slice(from - start, to - from),
                                        false));
                    }
                });
        return shards;
    }

    void close() {
        // These views borrow the memory that is freed next.
        closeViews(parameterViews);
        closeViews(gradientViews);
        parameters.close();
        gradients.close();
        for (WholeUnits.Piece piece : new WholeUnits.Piece[] {wholeParameters, wholeGradients}) {
            if (piece != null) {
                piece.memory.close();
            }
        }
    }

    /**
     * Returns a description such as {@code unit 'encoder' (3 parameters, 1200 of 4800 elements
     * here)}.
     */
    @Override
    public String toString() {
        return "unit '"
                + name
                + "' ("
                + Counted.of(ranges.size(), "parameter")
                + ", "
                + length
                + " of "
                + padded
                + " elements here)";
    }
}
