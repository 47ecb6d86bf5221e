package org.jccl.internal.group;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.jccl.FailureContext;
import org.jccl.OnFailure;
import org.jccl.Store;
import org.jccl.internal.backend.Backend;
import org.jccl.internal.diagnosis.Diagnosis;
import org.jccl.internal.engine.Watchdog;
import org.jccl.internal.observe.Listener;
import org.jccl.internal.observe.Observation;
import org.jccl.spi.CleanUp;

/** Connects a world. Used by one thread, once. */
public final class WorldBuilder {

    private final int rank;
    private final int size;
    private final Duration timeout;
    private final List<Backend> backends;
    private Optional<Store> store = Optional.empty();
    private boolean rankZeroServes;
    private Optional<GroupKeys> keys = Optional.empty();
    private Duration joinTimeout;
    private OnFailure onFailure = OnFailure.THROW;
    private boolean checksCalls;
    private List<Listener> listeners = List.of();
    private Runnable onClose = () -> {};

    /**
     * Begins without a store.
     *
     * @param rank this process's rank
     * @param size number of ranks
     * @param timeout deadline of each operation, and of connecting unless another is set
     * @param backends at least one, the preferred one for barriers first
     */
    public WorldBuilder(int rank, int size, Duration timeout, List<Backend> backends) {
        this.rank = rank;
        this.size = size;
        this.timeout = timeout;
        this.joinTimeout = timeout;
        this.backends = backends;
    }

    /**
     * Sets the store.
     *
     * @param value reached by all ranks
     * @param servedByRankZero whether it is in the process of rank 0
     * @return this builder
     */
    public WorldBuilder store(Store value, boolean servedByRankZero) {
        store = Optional.of(value);
        rankZeroServes = servedByRankZero;
        return this;
    }

    /**
     * Sets where communicators are formed, in a world that has ranks of another API.
     *
     * @param value keys of the world, in its store; by default there are no such ranks
     * @return this builder
     */
    public WorldBuilder keys(Optional<GroupKeys> value) {
        keys = value;
        return this;
    }

    /**
     * Sets the deadline of connecting.
     *
     * @param value the time that is left
     * @return this builder
     */
    public WorldBuilder joinTimeout(Duration value) {
        joinTimeout = value;
        return this;
    }

    /**
     * Sets what a failure does, of sub-groups too.
     *
     * @param value by default it is thrown
     * @return this builder
     */
    public WorldBuilder onFailure(OnFailure value) {
        onFailure = value;
        return this;
    }

    /**
     * Sets whether each collective is compared with those of the other ranks, in sub-groups too.
     *
     * @param value by default it is not
     * @return this builder
     */
    public WorldBuilder checkCalls(boolean value) {
        checksCalls = value;
        return this;
    }

    /**
     * Sets who observes the world and its sub-groups.
     *
     * @param value called without any lock
     * @return this builder
     */
    public WorldBuilder listeners(List<Listener> value) {
        listeners = value;
        return this;
    }

    /**
     * Sets what is called when the world is closed, or cannot be made.
     *
     * @param value called once
     * @return this builder
     */
    public WorldBuilder onClose(Runnable value) {
        onClose = value;
        return this;
    }

    /**
     * Connects to the other ranks.
     *
     * @return the world
     * @throws org.jccl.JcclException if it cannot be made in time
     */
    public Group connect() {
        long deadline = System.nanoTime() + joinTimeout.toNanos();
        FailureContext context = FailureContext.ofGroup("world", rank);
        // First, since it refuses folders: the others have threads by then.
        Observation observation = new Observation("rank-" + rank, listeners, timeout);
        Watchdog watchdog = new Watchdog("rank-" + rank);
        Diagnosis diagnosis = new Diagnosis("rank-" + rank, store);
        Runnable end =
                () ->
                        Group.runAll(
                                List.of(
                                        watchdog::close,
                                        diagnosis::close,
                                        observation::close,
                                        onClose));
        Group world;
        try {
            world =
                    new Group(
                            context,
                            IntStream.range(0, size).boxed().toList(),
                            new WorldServices(
                                    store,
                                    rankZeroServes,
                                    timeout,
                                    watchdog,
                                    diagnosis,
                                    observation,
                                    onFailure,
                                    checksCalls),
                            keys,
                            end);
        } catch (RuntimeException | Error e) {
            CleanUp.run(context.toString(), end);
            throw e;
        }
        world.connect(backends, GroupEngines.Origin.NONE, deadline);
        return world;
    }
}
