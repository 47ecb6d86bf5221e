package org.jccl.internal.group;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.jccl.FailureContext;
import org.jccl.OnFailure;
import org.jccl.Store;
import org.jccl.TlsCredentials;
import org.jccl.internal.backend.Backend;
import org.jccl.internal.diagnosis.Diagnosis;
import org.jccl.internal.engine.Watchdog;
import org.jccl.internal.group.Generations.Generation;
import org.jccl.internal.observe.Listener;
import org.jccl.internal.observe.Observation;
import org.jccl.spi.CleanUp;

/** Connects a world. Used once, by one thread. */
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
    private Optional<TlsCredentials> tls = Optional.empty();
    private List<Listener> listeners = List.of();
    private Runnable onClose = () -> {};

    /**
     * Starts with the defaults: no store, failures are thrown, no listeners.
     *
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
     * Sets the store of all ranks.
     *
     * @param servedByRankZero whether it is in the process of rank 0
     */
    public WorldBuilder store(Store value, boolean servedByRankZero) {
        store = Optional.of(value);
        rankZeroServes = servedByRankZero;
        return this;
    }

    /** Sets where communicators are formed, if the world has ranks of another API. */
    public WorldBuilder keys(Optional<GroupKeys> value) {
        keys = value;
        return this;
    }

    /** Sets the time that is left to connect. */
    public WorldBuilder joinTimeout(Duration value) {
        joinTimeout = value;
        return this;
    }

    /** Sets what a failure of the world or of its sub-groups does. */
    public WorldBuilder onFailure(OnFailure value) {
        onFailure = value;
        return this;
    }

    /**
     * Sets whether each collective is compared with those of the other ranks, also in sub-groups.
     */
    public WorldBuilder checkCalls(boolean value) {
        checksCalls = value;
        return this;
    }

    /** Sets the certificates for connections between ranks, also in sub-groups. */
    public WorldBuilder tls(Optional<TlsCredentials> value) {
        tls = value;
        return this;
    }

    /** Sets the observers of the world and of its sub-groups. */
    public WorldBuilder listeners(List<Listener> value) {
        listeners = value;
        return this;
    }

    /** Sets what is called once when the world is closed, or cannot be made. */
    public WorldBuilder onClose(Runnable value) {
        onClose = value;
        return this;
    }

    /**
     * Connects to the other ranks.
     *
     * @throws org.jccl.JcclException if that fails or takes too long
     */
    public Group connect() {
        List<Integer> all = IntStream.range(0, size).boxed().toList();
        return connect("world", all, store, joinTimeout, onClose, List::of, Optional.empty());
    }

    /**
     * Connects the next generation of a world whose ranks leave and come back.
     *
     * @param minimum how many ranks a generation has at least
     * @throws org.jccl.JcclException if that fails or takes too long
     */
    public Group connectGeneration(int minimum) {
        return new Generations(this, rank, size, minimum, store.orElseThrow(), timeout, onClose)
                .first(joinTimeout);
    }

    /**
     * Connects a world.
     *
     * @param name what messages call it
     * @param slots the numbers of its ranks in the job
     * @param shared the store of its ranks
     * @param time how long that may take
     * @param end called once when it is closed, or cannot be made
     * @param replaced which of its ranks were replaced by other processes
     * @param generation which generation it is, if others may follow
     */
    Group connect(
            String name,
            List<Integer> slots,
            Optional<Store> shared,
            Duration time,
            Runnable end,
            Supplier<List<Integer>> replaced,
            Optional<Generation> generation) {
        long deadline = System.nanoTime() + time.toNanos();
        FailureContext context = Group.context(name, slots.indexOf(rank), slots);
        List<Runnable> made = new ArrayList<>(List.of(end)); // the last one made comes first
        Runnable all = () -> Group.runAll(made);
        Group world;
        try {
            Observation observation = new Observation("rank-" + rank, listeners, timeout);
            made.add(0, observation::close);
            Diagnosis diagnosis = new Diagnosis("rank-" + rank, shared, replaced);
            made.add(0, diagnosis::close);
            Watchdog watchdog = new Watchdog("rank-" + rank);
            made.add(0, watchdog::close);
            world =
                    new Group(
                            context,
                            slots,
                            new WorldServices(
                                    shared,
                                    rankZeroServes,
                                    timeout,
                                    watchdog,
                                    diagnosis,
                                    observation,
                                    onFailure,
                                    checksCalls,
                                    tls),
                            keys,
                            generation,
                            all);
        } catch (RuntimeException | Error e) {
            CleanUp.run(context.toString(), all);
            throw e;
        }
        world.connect(backends, GroupEngines.Origin.NONE, deadline);
        return world;
    }
}
