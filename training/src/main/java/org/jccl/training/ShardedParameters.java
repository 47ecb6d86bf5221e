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
 * A model whose parameters, gradients and optimizer state are divided over the ranks of a group,
 * for models that are too large for one rank. Parameters belong to units, for example layers. The
 * parameters of a unit are gathered for use as one message, and its gradients are reduced as one
 * message. Each rank runs the optimizer on its own part.
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
 * <p>The same loop works with every kind of {@link Sharding}. If parameters are not sharded, {@code
 * release} does nothing, and {@code step} starts to gather the updated parameters unit by unit. If
 * gradients are not sharded, the program may add up those of several passes before {@code reduce}.
 *
 * <p>All ranks must make the same calls in the same order. Not thread-safe. After a failure of the
 * group or of an update every call throws, because the ranks' parts may belong to different steps.
 * The caller must continue from a {@link Checkpoint}.
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
                sharding.retainsParameters
                        ? null
                        : new WholeUnits(group, device, type, largest, pieces);
        gradientMemory =
                sharding.retainsGradients
                        ? null
                        : new WholeUnits(group, device, type, largest, pieces);
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
     * Returns a builder for sharded parameters.
     *
     * @param group the group whose ranks hold the parts; the caller keeps ownership
     * @return a builder with all defaults
     * @throws UsageException if the group is null
     */
    public static ShardedParametersBuilder builder(ProcessGroup group) {
        return new ShardedParametersBuilder(group);
    }

    /**
     * Returns the units.
     *
     * @return the units in the order in which they were added
     */
    public List<ShardedUnit> units() {
        return List.copyOf(units);
    }

    /**
     * Waits for the reductions of this step, so that the program can read the gradients before
     * {@link #step}, for example to clip their norm. Each rank has its own part of the gradients.
     * On devices the current stream waits.
     *
     * @throws MissingGradientException if a unit was not reduced in this step. The caller may
     *     reduce it and call this method again
     * @throws UsageException if this is closed or has failed
     * @throws JcclException if a reduction failed
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
     * Ends a step: waits for the reductions and updates this rank's part of each unit. Whole
     * parameters are released if they are sharded, and gathered again otherwise.
     *
     * @param update called for each unit, in order, on the calling thread
     * @throws MissingGradientException as {@link #awaitGradients}, before anything is updated
     * @throws UsageException if the update is null, or this is closed or has failed
     * @throws JcclException if a reduction failed
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
     * Returns this rank's parts of all parameters, for {@link Checkpoint#save}. See {@link
     * ShardedUnit#shards} for the optimizer's state.
     *
     * @return the parts of the units
     */
    public List<Shard> shards() {
        requireUsable();
        return units.stream()
                .flatMap(unit -> unit.shards("", unit.parameterShard()).stream())
                .toList();
    }

    /**
     * Replaces all parameters by those of a checkpoint, which any number of ranks may have saved.
     * All ranks must call it, between two steps.
     *
     * @param checkpoint a checkpoint that contains all parameters by name
     * @throws DifferentModelsException if ranks opened different checkpoints, for example because
     *     it was replaced meanwhile. All ranks throw it, and nothing is loaded
     * @throws CheckpointException if the checkpoint cannot be read or lacks a parameter. This
     *     object must not be used afterwards
     * @throws UsageException if the checkpoint is null, a unit was reduced and the step has not
     *     ended, or this is closed or has failed
     * @throws JcclException if the group has failed
     */
    public void load(Checkpoint checkpoint) {
        requireUsable();
        if (checkpoint == null) {
            throw usage("checkpoint is null");
        }
        if (units.stream().anyMatch(ShardedUnit::isReduced)) {
            throw usage("load a checkpoint before the first reduce() of a step, or after the step");
        }
        checkpoint.requireSame(group, device);
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

    /** Returns whether gradients are divided before they are added up, see {@link HalfDivision}. */
    boolean dividesBefore() {
        return op.equals(ReduceOp.AVG)
                && type == DataType.FLOAT16
                && !group.scalesAverages(device.type());
    }

    Zeros zeros() {
        return zeros;
    }

    /** Returns null if each unit keeps its own memory. */
    WholeUnits parameterMemory() {
        return parameterMemory;
    }

    /** Returns null if each unit keeps its own memory. */
    WholeUnits gradientMemory() {
        return gradientMemory;
    }

    Tensor allocate(long count) {
        return group.allocate(device, type, count);
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

    /** Runs an action. If it fails, the ranks' parts may differ, so this object fails. */
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
     * Waits for the work that the current stream has enqueued on the memory, and frees it. Work of
     * other streams on it must be complete. The group stays open. Idempotent.
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
