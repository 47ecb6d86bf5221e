package org.jccl.training;

import java.util.ArrayList;
import java.util.List;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Stream;
import org.jccl.Tensor;
import org.jccl.UsageException;

/**
 * A model of which each rank keeps a part only, so that models train that are too large for one
 * rank with their gradients and what the optimizer keeps. Parameters belong to units, layers for
 * instance, which are gathered for use, and whose gradients are reduced, as one message each. The
 * optimizer's step runs on each rank's own part.
 *
 * <pre>{@code
 * try (ShardedParameters model = ShardedParameters.builder(world)
 *         .unit("first", List.of(NamedTensor.of("first.weight", weight, 64, 128)))
 *         .unit("second", ...)
 *         .build()) {
 *     for (each batch) {
 *         for (ShardedUnit unit : model.units()) {          // forward pass
 *             unit.gather();
 *             ...                                            // prefetch() the next one, compute
 *             unit.release();
 *         }
 *         for (each unit, from the last to the first) {      // backward pass
 *             unit.gather();
 *             ...                                            // write unit.gradient(...)
 *             unit.release();
 *             unit.reduce();
 *         }
 *         model.step((unit, parameters, gradients) -> ...);
 *     }
 * }
 * }</pre>
 *
 * <p>The same loop goes with all kinds of {@link Sharding}: releasing does nothing where parameters
 * stay whole, and there {@code step} begins to gather what it has changed, so that the first layers
 * do not wait for the last. Gradients of several passes may be added up where they stay whole,
 * before {@code reduce}.
 *
 * <p>All ranks make the same calls in the same order. For one thread. After a failure of the group
 * or of an update it can not be used any more: the ranks' parts may be of different steps, and
 * training goes on from a {@link Checkpoint}.
 */
public final class ShardedParameters implements AutoCloseable {

    private final ProcessGroup group;
    private final Device device;
    private final DataType type;
    private final Sharding sharding;
    private final ReduceOp op;
    private final Zeros zeros;
    private final WholeUnits parameterMemory;
    private final WholeUnits gradientMemory;
    private final List<ShardedUnit> units = new ArrayList<>();
    private Throwable failure;
    private boolean closed;

    ShardedParameters(ShardedParametersBuilder options, Device device, DataType type) {
        this.group = options.group;
        this.device = device;
        this.type = type;
        this.sharding = options.sharding;
        this.op = options.average ? ReduceOp.AVG : ReduceOp.SUM;
        long largest =
                options.units.values().stream()
                        .mapToLong(unit -> ShardedUnit.padded(group, unit))
                        .max()
                        .orElseThrow();
        zeros = new Zeros(device);
        int pieces = Math.min(options.wholeUnits, options.units.size());
        parameterMemory =
                sharding.keepsParameters ? null : new WholeUnits(device, type, largest, pieces);
        gradientMemory =
                sharding.keepsGradients ? null : new WholeUnits(device, type, largest, pieces);
        try {
            options.units.forEach(
                    (name, parameters) -> {
                        ShardedUnit unit = new ShardedUnit(this, name, parameters);
                        units.add(unit);
                        unit.begin(parameters);
                    });
        } catch (RuntimeException e) {
            closed = true;
            free();
            throw e;
        }
    }

    /**
     * Begins to describe sharded parameters.
     *
     * @param group whose ranks have the parts; stays the caller's
     * @return a builder with all defaults
     * @throws UsageException when the group is null
     */
    public static ShardedParametersBuilder builder(ProcessGroup group) {
        return new ShardedParametersBuilder(group);
    }

    /**
     * The units.
     *
     * @return in the order in which they were added
     */
    public List<ShardedUnit> units() {
        return List.copyOf(units);
    }

    /**
     * Waits for the reductions of this step, on devices with the current stream, so that the
     * gradients can be looked at before {@link #step}: to limit their norm for instance, of which
     * each rank has a part.
     *
     * @throws MissingGradientException when a unit was not reduced in this step; it can be, and
     *     then this be called again
     * @throws UsageException when this is closed or has failed
     * @throws JcclException when a reduction failed
     */
    public void awaitGradients() {
        requireUsable();
        List<String> missing =
                units.stream().filter(unit -> !unit.isReduced()).map(ShardedUnit::name).toList();
        if (!missing.isEmpty()) {
            throw missing(
                    "units "
                            + missing
                            + " were not reduced in this step; call reduce() on each when its"
                            + " gradients are written");
        }
        units.forEach(ShardedUnit::awaitReducing);
    }

    /**
     * Ends a step: waits for the reductions and updates this rank's part of each unit. Parameters
     * that are whole are gathered anew, or released where they are sharded.
     *
     * @param update called for each unit, in their order, on this thread
     * @throws MissingGradientException as {@link #awaitGradients}, before anything is updated
     * @throws UsageException when the update is null, or this is closed or has failed
     * @throws JcclException when a reduction failed
     */
    public void step(ShardUpdate update) {
        requireUsable();
        if (update == null) {
            throw usage("update is null");
        }
        awaitGradients();
        for (ShardedUnit unit : units) {
            guarded(() -> update.update(unit, unit.parameterShard(), unit.gradientShard()));
            unit.changed();
        }
    }

    /**
     * What this rank has of all parameters, for {@link Checkpoint#save}. What the optimizer keeps
     * is added with {@link ShardedUnit#shards}.
     *
     * @return parts of the units
     */
    public List<Shard> shards() {
        requireUsable();
        return units.stream()
                .flatMap(unit -> unit.shards("", unit.parameterShard()).stream())
                .toList();
    }

    /**
     * Replaces all parameters by those of a checkpoint, which any number of ranks may have saved.
     * All ranks call it, between two steps.
     *
     * @param checkpoint has all parameters by their names
     * @throws DifferentModelsException when ranks have opened different ones, as when one was
     *     replaced meanwhile; all ranks throw it, and nothing was loaded
     * @throws CheckpointException when it can not be read, or has not all of them; this can not be
     *     used then
     * @throws UsageException when the checkpoint is null, a unit was reduced and the step has not
     *     ended, or this is closed or has failed
     * @throws JcclException when the group has failed
     */
    public void load(Checkpoint checkpoint) {
        requireUsable();
        if (checkpoint == null) {
            throw usage("checkpoint is null");
        }
        if (units.stream().anyMatch(ShardedUnit::isReduced)) {
            throw usage("a checkpoint is loaded before the first reduce() of a step, or after it");
        }
        ModelCheck.requireSame(
                group,
                device,
                List.of("checkpoint " + checkpoint.id()),
                "all ranks must open the same save");
        guarded(() -> checkpoint.load(shards()));
        units.forEach(ShardedUnit::changed);
    }

    ProcessGroup group() {
        return group;
    }

    Sharding sharding() {
        return sharding;
    }

    ReduceOp op() {
        return op;
    }

    /** Whether gradients are divided before they are added up: see {@link HalfDivision}. */
    boolean dividesBefore() {
        return op.equals(ReduceOp.AVG) && type == DataType.FLOAT16 && device.isCpu();
    }

    Zeros zeros() {
        return zeros;
    }

    /** Null where each unit keeps its own. */
    WholeUnits parameterMemory() {
        return parameterMemory;
    }

    /** Null where each unit keeps its own. */
    WholeUnits gradientMemory() {
        return gradientMemory;
    }

    Tensor allocate(long count) {
        return Tensor.allocate(device, type, count);
    }

    void requireUsable() {
        if (closed) {
            throw usage("sharded parameters are closed");
        }
        if (failure != null) {
            throw new UsageException(
                    context(),
                    "sharded parameters failed before ("
                            + failure.getMessage()
                            + "); load a checkpoint into new ones",
                    failure);
        }
    }

    /** Runs what leaves ranks with different parts when it fails. */
    void guarded(Runnable action) {
        try {
            action.run();
        } catch (RuntimeException | Error e) {
            failure = failure == null ? e : failure;
            throw e;
        }
    }

    UsageException usage(String message) {
        return new UsageException(context(), message);
    }

    MissingGradientException missing(String message) {
        return new MissingGradientException(context(), message);
    }

    private FailureContext context() {
        return FailureContext.ofGroup(group.name(), group.rank());
    }

    /**
     * Frees the memory, when what the current stream has enqueued on it is done. The group stays
     * open. Idempotent. What other streams do with it must have come to its end.
     *
     * @throws JcclException on devices, as {@link Stream#synchronize} does
     */
    @Override
    public void close() {
        if (closed) {
            return;
        }
        closed = true;
        try {
            if (!device.isCpu()) {
                Stream.current(device).synchronize();
            }
        } finally {
            free();
        }
    }

    private void free() {
        units.forEach(ShardedUnit::close);
        for (WholeUnits memory : new WholeUnits[] {parameterMemory, gradientMemory}) {
            if (memory != null) {
                memory.close();
            }
        }
        zeros.close();
    }
}
