package org.jccl.internal.group;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.stream.IntStream;
import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.JcclException;
import org.jccl.OperationTimeoutException;
import org.jccl.PeerLostException;
import org.jccl.Store;
import org.jccl.StoreException;
import org.jccl.UsageException;
import org.jccl.internal.backend.Backend;
import org.jccl.internal.engine.Engine;
import org.jccl.spi.Capabilities.Feature;
import org.jccl.spi.CleanUp;
import org.jccl.spi.Durations;
import org.jccl.store.PrefixStore;

/**
 * What stands behind a process group: one engine for each device type, the store, and sub-groups.
 */
public final class Group {

    /** How long a closing group waits for another message to end. */
    private static final Duration CLOSE_GRACE = Duration.ofSeconds(1);

    private final FailureContext context;
    private final List<Integer> worldRanks;
    private final WorldServices world;
    private final Optional<Store> store;
    private final Optional<GroupKeys> foreign;
    private final StoreFailures storeFailures;
    private final GroupEngines engines;
    private final Runnable onClose;

    // Guarded by the map's monitor.
    private final Map<List<Integer>, Integer> groupsMade = new HashMap<>();
    private int splits;
    private int shrinks;
    private int monitoredBarriers;
    private boolean closed;

    /**
     * Makes a group that is not connected yet.
     *
     * @param context of the calling rank
     * @param worldRanks the members
     * @param world what all groups share
     * @param foreign where ranks of another API form communicators, or empty
     * @param onClose called when the group is closed
     */
    Group(
            FailureContext context,
            List<Integer> worldRanks,
            WorldServices world,
            Optional<GroupKeys> foreign,
            Runnable onClose) {
        this.context = context;
        this.worldRanks = worldRanks;
        this.world = world;
        this.store = world.store().map(root -> new PrefixStore(context.group(), root));
        this.foreign = foreign;
        this.storeFailures =
                new StoreFailures(
                        context, worldRanks.indexOf(0), world.rankZeroServes(), this.store);
        this.engines = new GroupEngines(context, worldRanks, this.store, foreign, world);
        this.onClose = onClose;
    }

    /** Makes the engines, or closes the group. */
    void connect(List<Backend> backends, GroupEngines.Origin origin, long deadline) {
        try {
            engines.connect(backends, origin, deadline);
        } catch (JcclException e) {
            JcclException explained = storeFailures.explain(e);
            giveUp(explained);
            throw explained.at(context);
        } catch (RuntimeException | Error e) {
            giveUp(e);
            throw e;
        }
    }

    /** Closes what was made of the group. It fails, so that others do not take it for closed. */
    private void giveUp(Throwable why) {
        JcclException cause =
                new GroupAbortedException(context, "the group could not be made: " + why, why);
        engines.forEach(engine -> CleanUp.run(context.toString(), () -> engine.abort(cause)));
        CleanUp.run(context.toString(), this::close);
    }

    /**
     * Group and rank, for messages.
     *
     * @return the context
     */
    public FailureContext context() {
        return context;
    }

    /**
     * Number of ranks.
     *
     * @return at least 1
     */
    public int size() {
        return worldRanks.size();
    }

    /**
     * The members' ranks in the world.
     *
     * @return by rank in this group
     */
    public List<Integer> worldRanks() {
        return worldRanks;
    }

    /**
     * Backend of a device type.
     *
     * @param deviceType for instance {@code cpu}
     * @return its name
     */
    public Optional<String> backend(String deviceType) {
        return engines.backend(deviceType).map(backend -> backend.provider().name());
    }

    /**
     * The devices of this rank, one for each backend.
     *
     * @return in the order of the backends
     */
    public List<Device> devices() {
        return engines.backends().stream().map(Backend::device).toList();
    }

    /**
     * The engine for the tensors of a device.
     *
     * @param device where they are
     * @return the engine
     * @throws UsageException if the group has no backend for its device
     */
    public Engine engineOf(Device device) {
        return engines.of(device);
    }

    /**
     * The engine for barriers.
     *
     * @return the first one
     */
    public Engine defaultEngine() {
        return engines.first();
    }

    private void requireUsable() {
        engines.forEach(Engine::requireUsable);
    }

    private Store requireStore(String operation) {
        if (foreign.isPresent()) {
            throw new UsageException(
                    context, operation + " is unknown to " + foreign.get().peers());
        }
        return store.orElseThrow(
                () ->
                        new UsageException(
                                context,
                                "%s needs a store; build the group with one, or under a launcher"
                                        .formatted(operation)));
    }

    /**
     * A barrier over the store.
     *
     * @param wait how long rank 0 waits
     * @param waitAllRanks whether all missing ranks are named
     * @throws UsageException if the time is null, negative or more than a day, or there is no store
     * @throws OperationTimeoutException if ranks are missing, or the store does not answer
     * @throws PeerLostException if rank 0, which serves the store, is gone
     * @throws StoreException if the store is gone that somebody else serves
     */
    public void monitoredBarrier(Duration wait, boolean waitAllRanks) {
        requireUsable();
        if (wait == null || wait.isNegative() || wait.compareTo(Duration.ofDays(1)) > 0) {
            throw new UsageException(
                    context,
                    "monitoredBarrier: timeout must be from 0 to a day, got "
                            + Durations.text(wait));
        }
        Store shared = requireStore("monitoredBarrier");
        String prefix;
        synchronized (groupsMade) {
            prefix = "monitored-barrier/" + monitoredBarriers++ + "/";
        }
        MonitoredBarrier barrier = new MonitoredBarrier(context, size(), shared, prefix);
        try {
            barrier.pass(wait, waitAllRanks);
        } catch (JcclException e) {
            throw storeFailures.explain(e).at(context);
        }
    }

    /**
     * Makes a sub-group of the given ranks.
     *
     * @param ranks ranks of this group
     * @return empty when this rank is not among them
     */
    public Optional<Group> newGroup(List<Integer> ranks) {
        long deadline = System.nanoTime() + world.timeout().toNanos();
        requireUsable();
        MemberRanks.check(ranks, size(), context);
        Optional<GroupKeys> keys = foreign.map(own -> own.next(context, ranks));
        int mine = ranks.indexOf(context.rank());
        OptionalInt color = keys.map(own -> own.color(ranks)).orElse(OptionalInt.empty());
        if (color.isPresent()) {
            engines.prepareSplits(mine < 0 ? mine : color.getAsInt());
        }
        if (mine < 0) {
            return Optional.empty();
        }
        int copies;
        synchronized (groupsMade) {
            copies = groupsMade.merge(List.copyOf(ranks), 1, Integer::sum);
        }
        // Members count the groups of equal ranks alike, so the name needs no agreement.
        String name =
                context.group() + "/" + MemberRanks.text(ranks) + (copies == 1 ? "" : "#" + copies);
        return Optional.of(child(name, keys, mine, ranks, color, deadline));
    }

    /**
     * Divides the group by color.
     *
     * @param color negative to be in no new group
     * @param key place in the new group
     * @return empty for a negative color
     */
    public Optional<Group> split(int color, int key) {
        long deadline = System.nanoTime() + world.timeout().toNanos();
        requireUsable();
        Store shared = requireStore("split");
        int number;
        synchronized (groupsMade) {
            number = splits++;
        }
        SplitAgreement agreement =
                new SplitAgreement(shared, "split/" + number + "/", context, size());
        List<Integer> ranks;
        try {
            ranks = agreement.enter(color, key, world.timeout());
        } catch (JcclException e) {
            throw storeFailures.explain(e).at(context);
        }
        engines.prepareSplits(color);
        if (color < 0) {
            return Optional.empty();
        }
        String name = context.group() + "/split" + number + "-" + color;
        return Optional.of(
                child(
                        name,
                        foreign,
                        ranks.indexOf(context.rank()),
                        ranks,
                        OptionalInt.of(color),
                        deadline));
    }

    /**
     * Makes a group of the ranks that are left, and fails this one where it has not failed yet. A
     * rank that is lost meanwhile is left out by another attempt.
     *
     * @param patience how long to wait for ranks that do not come
     * @return the new group
     */
    public Group shrink(Duration patience) {
        if (patience == null
                || patience.isNegative()
                || patience.isZero()
                || patience.compareTo(Duration.ofDays(1)) > 0) {
            throw new UsageException(
                    context,
                    "shrink: patience must be more than zero and at most a day, got "
                            + Durations.text(patience));
        }
        requireShrinkable();
        Store shared = requireStore("shrink");
        JcclException cause = new GroupAbortedException(context, "shrink() was called");
        engines.forEach(engine -> engine.abort(cause));
        engines.forEach(Engine::replaced);
        try {
            return new Shrinking(context, size(), shared, this::nextShrink, this::ofSurvivors)
                    .run(patience, world.timeout());
        } catch (StoreException e) {
            throw shrinkNeedsStore(e);
        }
    }

    private int nextShrink() {
        synchronized (groupsMade) {
            return shrinks++;
        }
    }

    private void requireShrinkable() {
        engines.forEach(Engine::requireOpen);
        for (Backend backend : engines.backends()) {
            if (!engines.of(backend.device()).capabilities().has(Feature.SHRINK)) {
                throw new UsageException(
                        context,
                        "shrink: with backend %s no group outlives a lost rank; start all ranks again, from a checkpoint"
                                .formatted(backend.provider().name()));
            }
        }
    }

    private StoreException shrinkNeedsStore(StoreException failure) {
        return new StoreException(
                "%s: shrink needs the store, which is gone%s%s"
                        .formatted(
                                context,
                                world.rankZeroServes()
                                        ? " with rank 0 of the world, which served it; under 'jccl run' or"
                                                + " torchrun the launcher serves it: "
                                        : ": ",
                                failure.reason()),
                failure);
    }

    private Group child(
            String name,
            Optional<GroupKeys> keys,
            int rank,
            List<Integer> ranks,
            OptionalInt color,
            long deadline) {
        Group group = member(name, keys, rank, ranks);
        group.connect(
                engines.backends(),
                new GroupEngines.Origin(Optional.of(engines), List.copyOf(ranks), color),
                deadline);
        return group;
    }

    /** Nothing is made out of this group's communicators, which have failed. */
    private Group ofSurvivors(List<Integer> ranks, int attempt, long deadline) {
        String name = context.group() + "/shrink" + attempt;
        Group group = member(name, Optional.empty(), ranks.indexOf(context.rank()), ranks);
        group.connect(engines.backends(), GroupEngines.Origin.NONE, deadline);
        return group;
    }

    private Group member(String name, Optional<GroupKeys> keys, int rank, List<Integer> ranks) {
        List<Integer> members = ranks.stream().map(worldRanks::get).toList();
        return new Group(childContext(name, rank, members), members, world, keys, () -> {});
    }

    /** Messages name ranks of the group, which the world may know by other numbers. */
    private static FailureContext childContext(String name, int rank, List<Integer> members) {
        boolean same = members.equals(IntStream.range(0, members.size()).boxed().toList());
        return new FailureContext(name, rank, "", -1, same ? List.of() : members);
    }

    /** Fails everything that runs on this group. */
    public void abort() {
        JcclException cause = new GroupAbortedException(context, "abort() was called");
        engines.forEach(engine -> engine.abort(cause));
    }

    /** Closes the engines, then what the group was made with. Idempotent. */
    public void close() {
        synchronized (groupsMade) {
            if (closed) {
                return;
            }
            closed = true;
        }
        List<Runnable> steps = new ArrayList<>();
        engines.forEach(
                engine -> {
                    steps.add(() -> engine.close(CLOSE_GRACE));
                    steps.add(engine.observers()::groupClosed);
                    steps.add(() -> world.watchdog().remove(engine));
                });
        steps.add(onClose);
        runAll(steps);
    }

    /** What fails in one step must not keep the others away, which would leave threads behind. */
    static void runAll(List<Runnable> steps) {
        Throwable first = null;
        for (Runnable step : steps) {
            try {
                step.run();
            } catch (RuntimeException | Error e) {
                if (first == null) {
                    first = e;
                } else {
                    first.addSuppressed(e);
                }
            }
        }
        if (first instanceof Error error) {
            throw error;
        }
        if (first != null) {
            throw (RuntimeException) first;
        }
    }
}
