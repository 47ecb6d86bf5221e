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
 * Parameters that are gathered and reduced together, a layer for instance: all elements one after
 * another, divided in as many parts as there are ranks. Made and owned by {@link
 * ShardedParameters}; for one thread.
 */
public final class ShardedUnit {

    /** A parameter's elements in the unit. */
    private record Place(List<Long> shape, long offset, long count) {}

    private final ShardedParameters owner;
    private final String name;
    private final Map<String, Place> places = new LinkedHashMap<>();

    /** Elements of all ranks' parts, which are of one size. */
    private final long padded;

    /** First element of this rank's part, and the number of those that are no padding. */
    private final long start;

    private final long length;

    /** This rank's part with its padding. */
    private final Tensor parameters;

    private final Tensor gradients;

    /** Where it is whole, or null. */
    private WholeUnits.Piece wholeParameters;

    private WholeUnits.Piece wholeGradients;

    /** Whether the whole parameters are those of the parts, or will be after {@link #gathering}. */
    private boolean gathered;

    private Work gathering;

    /** Whether the whole gradients are this step's. */
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
            places.put(each.name(), new Place(each.shape(), count, each.tensor().count()));
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

    /** Takes over rank 0's parameters. */
    void begin(List<NamedTensor> given) {
        takeParameters();
        Tensor whole = wholeParameters.memory.slice(0, padded);
        owner.zeros().writeTo(whole);
        for (NamedTensor each : given) {
            whole.slice(places.get(each.name()).offset, each.tensor().count())
                    .copyFrom(each.tensor());
        }
        owner.group().broadcast(whole, 0).await();
        long part = parameters.count();
        parameters.copyFrom(whole.slice(part * owner.group().rank(), part));
        gathered = true;
        release();
    }

    /**
     * Its name.
     *
     * @return as given to {@link ShardedParametersBuilder#unit}
     */
    public String name() {
        return name;
    }

    /**
     * The names of its parameters.
     *
     * @return in the order in which they were given
     */
    public List<String> parameterNames() {
        return List.copyOf(places.keySet());
    }

    /**
     * Begins to gather its parameters, so that they come while the program computes with those of
     * another unit. Does nothing when they are whole. All ranks call it at the same place. On
     * devices it is ordered after what the current stream has enqueued. Becomes {@link
     * ProcessGroup#allGatherSingle}.
     *
     * @throws UsageException when no memory is free for it, because as many units are whole as
     *     {@link ShardedParametersBuilder#wholeUnits} says, or the owner is closed or has failed
     * @throws JcclException when the group has failed
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
                            + "': those of "
                            + memory.count()
                            + " other units are whole; call "
                            + how
                            + " on one of them first, or raise wholeUnits()");
        }
        return piece[0];
    }

    /**
     * Gathers its parameters, or waits until those are there that were {@linkplain #prefetch
     * prefetched}: on the CPU the host waits, on devices the current stream does.
     *
     * @throws UsageException as {@link #prefetch}
     * @throws JcclException when the group has failed
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
     * One of its parameters, whole. To be read only: what is written there is lost when the next
     * step is gathered.
     *
     * @param parameter its name
     * @return memory of the owner. Where {@linkplain Sharding#PARAMETERS parameters are sharded} it
     *     is closed by {@link #release}; otherwise it stays as long as the owner is open, and
     *     {@link #gather} puts the parameters there that a step has changed
     * @throws UsageException when there is no such parameter, the unit is not gathered, or the
     *     owner is closed or has failed
     */
    public Tensor parameter(String parameter) {
        owner.requireUsable();
        Place place = place(parameter);
        if (!gathered || gathering != null) {
            throw owner.usage("unit '" + name + "' is not whole; call its gather() first");
        }
        return view(
                parameterViews,
                parameter,
                place,
                wholeParameters,
                owner.sharding().keepsParameters);
    }

    /**
     * Where the gradient of one of its parameters goes. The first call in a step makes those of the
     * whole unit zero.
     *
     * @param parameter its name
     * @return memory of the owner. Where gradients are sharded it is closed by {@link #reduce};
     *     otherwise it stays as long as the owner is open
     * @throws UsageException when there is no such parameter, the unit was reduced in this step, no
     *     memory is free for it, or the owner is closed or has failed
     * @throws JcclException when a reduction that has to end before has failed
     */
    public Tensor gradient(String parameter) {
        owner.requireUsable();
        Place place = place(parameter);
        if (reducing != null || reduced) {
            throw owner.usage("unit '" + name + "' was reduced; gradients begin anew after step()");
        }
        if (!collects) {
            if (wholeGradients == null) {
                wholeGradients = taken(owner.gradientMemory(), "gradients", "reduce()");
            }
            owner.zeros().writeTo(wholeGradients.memory.slice(0, padded));
            collects = true;
        }
        return view(
                gradientViews, parameter, place, wholeGradients, owner.sharding().keepsGradients);
    }

    private Place place(String parameter) {
        Place place = places.get(parameter);
        if (place == null) {
            throw owner.usage(
                    "unit '"
                            + name
                            + "' has no parameter '"
                            + parameter
                            + "'; it has "
                            + places.keySet());
        }
        return place;
    }

    /** A view that can be closed alone, so that nobody uses memory that went to another unit. */
    private static Tensor view(
            Map<String, Tensor> views,
            String parameter,
            Place place,
            WholeUnits.Piece piece,
            boolean stays) {
        return views.computeIfAbsent(
                parameter,
                any -> {
                    Tensor slice = piece.memory.slice(place.offset, place.count);
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
     * Begins to reduce its gradients, so that each rank gets its part of their average, or sum. All
     * ranks call it at the same place, when the backward pass is through with the unit. On devices
     * it is ordered after what the current stream has enqueued. Becomes {@link
     * ProcessGroup#reduceScatterSingle}.
     *
     * @throws MissingGradientException when the program did not ask for any of its gradients in
     *     this step
     * @throws UsageException when it was reduced in this step, or the owner is closed or has failed
     * @throws JcclException when the group has failed
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
                            + "' came in this step; write them to gradient(...) before reduce()");
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
        if (!owner.sharding().keepsGradients) {
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
     * Gives its whole parameters' memory to other units, and closes the tensors that {@link
     * #parameter} gave. On devices what the current stream has enqueued may still read them.
     * Idempotent; does nothing where parameters are not sharded.
     *
     * @throws JcclException when the parameters were being gathered, which this waits for, and that
     *     failed
     */
    public void release() {
        if (!owner.sharding().keepsParameters && wholeParameters != null) {
            awaitGathering();
            closeViews(parameterViews);
            owner.parameterMemory().giveBack(wholeParameters, null);
            wholeParameters = null;
            gathered = false;
        }
    }

    /** The parts have changed. */
    void changed() {
        reduced = false;
        if (owner.sharding().keepsParameters) {
            // Some libraries have several collectives under way, and both write to the same memory.
            awaitGathering();
            gathered = false;
            prefetch();
        } else {
            release();
        }
    }

    /**
     * This rank's part of the parameters.
     *
     * @return their elements, without padding: the last ranks may have fewer, or none
     */
    public Tensor parameterShard() {
        return parameters.slice(0, length);
    }

    /**
     * This rank's part of the gradients, after {@link ShardedParameters#awaitGradients}.
     *
     * @return reduced elements, as many as {@link #parameterShard} has
     */
    public Tensor gradientShard() {
        return gradients.slice(0, length);
    }

    /**
     * What this rank has of each parameter, or of what an optimizer keeps for each, to be saved in
     * a {@link Checkpoint} and loaded from one, by however many ranks.
     *
     * @param prefix before the parameters' names; empty for the parameters themselves
     * @param flat {@link #parameterShard}, or other elements that belong to its elements
     * @return parts of that tensor; empty when this rank has none
     * @throws UsageException when an argument is null or the counts differ
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
        places.forEach(
                (parameter, place) -> {
                    long from = Math.max(start, place.offset);
                    long to = Math.min(start + length, place.offset + place.count);
                    if (from < to) {
                        shards.add(
                                new Shard(
                                        prefix + parameter,
                                        place.shape,
                                        from - place.offset,
                                        flat.slice(from - start, to - from),
                                        false));
                    }
                });
        return shards;
    }

    void close() {
        // They borrow the memory that is freed here.
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

    /** For instance {@code unit 'encoder' (3 parameters, 1200 of 4800 elements here)}. */
    @Override
    public String toString() {
        return "unit '"
                + name
                + "' ("
                + Counted.of(places.size(), "parameter")
                + ", "
                + length
                + " of "
                + padded
                + " elements here)";
    }
}
