package org.jccl.internal.group;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.UUID;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.jccl.BackendOptions;
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
import org.jccl.internal.group.Generations.Generation;
import org.jccl.internal.membership.Agreement;
import org.jccl.spi.Capabilities.Feature;
import org.jccl.spi.CleanUp;
import org.jccl.spi.Durations;
import org.jccl.store.PrefixStore;

/**
 * The implementation of a process group: one engine for each device type, the store, and
 * sub-groups.
 */
public final class Group {

    /** How long a closing group waits for another message to complete. */
    private static final Duration CLOSE_GRACE = Duration.ofSeconds(1);

    private static final int MAX_RANKS_IN_NAME = 8;

    private final FailureContext context;
    private final List<Integer> worldRanks;
    private final WorldServices world;
    private final Optional<Store> store;
    private final Optional<GroupKeys> interopKeys;
    private final Optional<Generation> generation;
    private final StoreFailures storeFailures;
    private final GroupEngines engines;
    private final Runnable onClose;

    // Guarded by the map's monitor.
    private final Map<List<Integer>, Integer> groupsMade = new HashMap<>();
    private int splits;
    private int shrinks;
    private int monitoredBarriers;
    private boolean closed;

    /** Groups that were made from this one and use its services, as far as they may be open. */
    private final List<Group> made = new ArrayList<>();

    /**
     * Creates a group that is not connected yet.
     *
     * @param interopKeys where ranks of another API form communicators, or empty
     * @param generation which generation this is, if others may follow
     * @param onClose called when the group is closed
     */
    Group(
            FailureContext context,
            List<Integer> worldRanks,
            WorldServices world,
            Optional<GroupKeys> interopKeys,
            Optional<Generation> generation,
            Runnable onClose) {
        this.context = context;
        this.worldRanks = worldRanks;
        this.world = world;
        this.store = world.store().map(root -> new PrefixStore(context.group(), root));
        this.interopKeys = interopKeys;
        this.generation = generation;
        this.storeFailures =
                new StoreFailures(
                        context, worldRanks.indexOf(0), world.rankZeroServes(), this.store);
        this.engines = new GroupEngines(context, worldRanks, this.store, interopKeys, world);
        this.onClose = onClose;
    }

    /** Connects the engines, or closes the group. */
    void connect(List<Backend> backends, GroupEngines.Origin origin, long deadline) {
        try {
            engines.connect(backends, origin, deadline);
            OpenGroups.add(this);
        } catch (JcclException e) {
            JcclException explained = storeFailures.explain(e);
            giveUp(explained);
            throw explained.at(context);
        } catch (RuntimeException | Error e) {
            giveUp(e);
            throw e;
        }
    }

    /**
     * Closes a group that could not be made. It fails first, so that peers do not take it for
     * closed normally.
     */
    private void giveUp(Throwable why) {
        JcclException cause =
                new GroupAbortedException(context, "the group could not be made: " + why, why);
        engines.forEach(engine -> CleanUp.run(context.toString(), () -> engine.abort(cause)));
        CleanUp.run(context.toString(), this::close);
    }

    /** Returns group and rank, for messages. */
    public FailureContext context() {
        return context;
    }

    /** Returns the number of ranks. */
    public int size() {
        return worldRanks.size();
    }

    /** Returns the ranks of the members in the world, by rank in this group. */
    public List<Integer> worldRanks() {
        return worldRanks;
    }

    /** Returns the name of the backend for a device type. */
    public Optional<String> backend(String deviceType) {
        return engines.backend(deviceType).map(backend -> backend.provider().name());
    }

    /** Returns whether averages of 16-bit types on these devices cannot overflow. */
    public boolean scalesAverages(String deviceType) {
        return engines.scalesAverages(deviceType);
    }

    /** Returns the devices of this rank, one for each backend, in their order. */
    public List<Device> devices() {
        return engines.backends().stream().map(Backend::device).toList();
    }

    /**
     * Returns the engine for the tensors of a device.
     *
     * @throws UsageException if the group has no backend for it
     */
    public Engine engineOf(Device device) {
        return engines.of(device);
    }

    /** Returns the engine for barriers. */
    public Engine defaultEngine() {
        return engines.forBarriers();
    }

    private void requireUsable() {
        engines.forEach(Engine::requireUsable);
    }

    /** Throws if the group has failed. A later call throws what another rank reports now. */
    private void checkOtherRanks() {
        requireUsable();
        engines.forEach(Engine::askForFailure);
    }

    private Store requireStore(String operation) {
        if (interopKeys.isPresent()) {
            throw new UsageException(
                    context, operation + " is not supported by " + interopKeys.get().peers());
        }
        return store.orElseThrow(
                () ->
                        new UsageException(
                                context,
                                "%s needs a store; build the group with one, or under a launcher"
                                        .formatted(operation)));
    }

    /**
     * Waits at a barrier over the store.
     *
     * @param wait how long rank 0 waits
     * @param waitAllRanks whether all missing ranks are named
     * @throws UsageException if the time is null, negative or more than a day, or there is no store
     * @throws OperationTimeoutException if ranks are missing, or the store does not answer
     * @throws PeerLostException if rank 0, which serves the store, was lost
     * @throws StoreException if the store of another process was lost
     * @throws GroupAbortedException if the group fails meanwhile, on this rank or another one
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
        int number;
        synchronized (groupsMade) {
            number = ++monitoredBarriers;
        }
        MonitoredBarrier barrier = new MonitoredBarrier(context, size(), shared, number);
        try {
            barrier.pass(wait, waitAllRanks, this::checkOtherRanks);
        } catch (JcclException e) {
            throw storeFailures.explain(e).at(context);
        }
    }

    /**
     * Makes a sub-group of the given ranks. Returns empty if this rank is not a member.
     *
     * @param options in place of those that a backend of this group has, or empty
     */
    public Optional<Group> newGroup(List<Integer> ranks, Optional<BackendOptions> options) {
        long deadline = System.nanoTime() + world.timeout().toNanos();
        requireUsable();
        List<Backend> backends = engines.backends("newGroup", options);
        requireMembers(ranks);
        Optional<GroupKeys> keys = interopKeys.map(own -> own.next(context, ranks));
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
        String name = context.group() + "/" + nameOf(ranks) + (copies == 1 ? "" : "#" + copies);
        return Optional.of(child(name, backends, keys, mine, ranks, color, deadline));
    }

    private void requireMembers(List<Integer> ranks) {
        if (ranks == null || ranks.isEmpty()) {
            throw new UsageException(context, "newGroup: ranks must name at least one rank");
        }
        if (new HashSet<>(ranks).size() != ranks.size()) {
            throw new UsageException(context, "newGroup: a rank is given twice in " + ranks);
        }
        for (Integer rank : ranks) {
            if (rank == null || rank < 0 || rank >= size()) {
                throw new UsageException(
                        context,
                        "newGroup: ranks must be from 0 to " + (size() - 1) + ", got " + ranks);
            }
        }
    }

    /** Returns a part of the name of a group: equal for equal ranks, and of limited length. */
    private static String nameOf(List<Integer> ranks) {
        if (ranks.size() <= MAX_RANKS_IN_NAME) {
            return ranks.toString().replaceAll("[ \\[\\]]", "");
        }
        byte[] all = ranks.toString().getBytes(StandardCharsets.UTF_8);
        return ranks.size() + "ranks-" + UUID.nameUUIDFromBytes(all);
    }

    /**
     * Divides the group by color. Returns empty for a negative color.
     *
     * @param options in place of those that a backend of this group has, or empty
     */
    public Optional<Group> split(int color, int key, Optional<BackendOptions> options) {
        long deadline = System.nanoTime() + world.timeout().toNanos();
        requireUsable();
        List<Backend> backends = engines.backends("split", options);
        Store shared = requireStore("split");
        int number;
        synchronized (groupsMade) {
            number = splits++;
        }
        SplitAgreement agreement =
                new SplitAgreement(shared, "split/" + number + "/", context, size());
        engines.forEach(Engine::beginSplit);
        try {
            List<Integer> ranks = colored(agreement, color, key);
            engines.prepareSplits(color);
            if (color < 0) {
                return Optional.empty();
            }
            String name = context.group() + "/split" + number + "-" + color;
            return Optional.of(
                    child(
                            name,
                            backends,
                            interopKeys,
                            ranks.indexOf(context.rank()),
                            ranks,
                            OptionalInt.of(color),
                            deadline));
        } finally {
            engines.forEach(Engine::endSplit);
        }
    }

    private List<Integer> colored(SplitAgreement agreement, int color, int key) {
        try {
            return agreement.enter(color, key, world.timeout(), this::throwFailure);
        } catch (JcclException e) {
            throw storeFailures.explain(e).at(context);
        }
    }

    private void throwFailure() {
        Optional<JcclException> known = failure();
        if (known.isPresent()) {
            throw known.get().forCaller();
        }
    }

    /**
     * Makes a group of the remaining ranks, and fails this one if it has not failed yet. If a rank
     * is lost meanwhile, another attempt leaves it out.
     *
     * @param gracePeriod how long to wait for ranks that do not come
     */
    public Group shrink(Duration gracePeriod) {
        requireTime("shrink: the grace period", gracePeriod);
        Store shared = requireStore("shrink");
        abortForSuccessor("shrink");
        int call;
        synchronized (groupsMade) {
            call = shrinks++;
        }
        Store part = new PrefixStore("shrink/" + call, shared);
        Agreement.Forming<Group> forming =
                new Agreement.Forming<>() {
                    @Override
                    public Group connect(
                            int attempt, List<Integer> ranks, Store own, Duration time) {
                        return ofRemaining("shrink" + call + "." + attempt, ranks, own, time);
                    }

                    @Override
                    public void discard(Group made) {
                        made.discard();
                    }
                };
        Agreement<Group> agreement =
                new Agreement<>(context, context.rank(), size(), 1, false, part, forming);
        return next("shrink", () -> agreement.next(gracePeriod, world.timeout()));
    }

    /** Makes a group of remaining ranks. It uses no communicator of this one, which has failed. */
    private Group ofRemaining(String name, List<Integer> ranks, Store own, Duration time) {
        long deadline = System.nanoTime() + time.toNanos();
        List<Integer> members = ranks.stream().map(worldRanks::get).toList();
        FailureContext of =
                context(context.group() + "/" + name, ranks.indexOf(context.rank()), members);
        Group group =
                new Group(
                        of,
                        members,
                        world.over(own),
                        Optional.empty(),
                        Optional.empty(),
                        own::close);
        group.connect(engines.backends(), GroupEngines.Origin.NONE, deadline);
        return keep(group);
    }

    /** Notes a group that must be closed before this one. */
    private Group keep(Group group) {
        synchronized (groupsMade) {
            made.removeIf(Group::isClosed);
            made.add(group);
            if (!closed) {
                return group;
            }
        }
        group.discard(); // nothing would watch it
        throw new UsageException(context, "the group is closed");
    }

    /**
     * Makes the next generation of the world, and fails this one if it has not failed yet.
     *
     * @param patience how long to wait for ranks that do not come
     */
    public Group reconfigure(Duration patience) {
        requireTime("reconfigure: the time to wait", patience);
        Generations following = requireGenerations("reconfigure");
        abortForSuccessor("reconfigure");
        return next("reconfigure", () -> following.next(generation(), patience));
    }

    /** Returns the number of the generation; 0 if no other may follow. */
    public int generation() {
        return generation.map(Generation::number).orElse(0);
    }

    /** Returns whether ranks wait for the next generation of the world. */
    public boolean hasNewcomers() {
        try {
            return requireGenerations("hasNewcomers").hasNewcomers();
        } catch (JcclException e) {
            throw storeFailures.explain(e).at(context);
        }
    }

    private Generations requireGenerations(String operation) {
        return generation
                .map(Generation::all)
                .orElseThrow(
                        () ->
                                new UsageException(
                                        context,
                                        "%s: this is not a world that was built with reconfigurable(...)"
                                                .formatted(operation)));
    }

    private void requireTime(String what, Duration time) {
        if (time == null
                || time.isNegative()
                || time.isZero()
                || time.compareTo(Duration.ofDays(1)) > 0) {
            throw new UsageException(
                    context,
                    what
                            + " must be more than zero and at most a day, got "
                            + Durations.text(time));
        }
    }

    /** Fails this group, which another one follows. */
    private void abortForSuccessor(String operation) {
        engines.forEach(Engine::requireOpen);
        for (Backend backend : engines.backends()) {
            if (!engines.of(backend.device()).capabilities().has(Feature.SHRINK)) {
                throw new UsageException(
                        context,
                        "%s: a group of backend %s cannot continue without a lost rank; restart all ranks from a checkpoint"
                                .formatted(operation, backend.provider().name()));
            }
        }
        JcclException cause = new GroupAbortedException(context, operation + "() was called");
        engines.forEach(engine -> engine.abort(cause));
        engines.forEach(Engine::replaced);
    }

    private Group next(String operation, Supplier<Group> agreement) {
        try {
            return agreement.get();
        } catch (StoreException e) {
            throw new StoreException(
                    "%s: %s needs the store, which was lost%s%s"
                            .formatted(
                                    context,
                                    operation,
                                    world.rankZeroServes()
                                            ? " with rank 0 of the world, which served it; under 'jccl run' or"
                                                    + " torchrun the launcher serves it: "
                                            : ": ",
                                    e.reason()),
                    e);
        }
    }

    private Group child(
            String name,
            List<Backend> backends,
            Optional<GroupKeys> keys,
            int rank,
            List<Integer> ranks,
            OptionalInt color,
            long deadline) {
        Group group = member(name, keys, rank, ranks);
        group.connect(
                backends,
                new GroupEngines.Origin(Optional.of(engines), List.copyOf(ranks), color),
                deadline);
        return keep(group);
    }

    private Group member(String name, Optional<GroupKeys> keys, int rank, List<Integer> ranks) {
        List<Integer> members = ranks.stream().map(worldRanks::get).toList();
        return new Group(
                context(name, rank, members), members, world, keys, Optional.empty(), () -> {});
    }

    /** Messages name ranks of the group, whose numbers in the world may differ. */
    static FailureContext context(String name, int rank, List<Integer> members) {
        boolean same = members.equals(IntStream.range(0, members.size()).boxed().toList());
        return new FailureContext(name, rank, "", -1, same ? List.of() : members);
    }

    /** Fails all operations on this group. */
    public void abort() {
        JcclException cause = new GroupAbortedException(context, "abort() was called");
        engines.forEach(engine -> engine.abort(cause));
    }

    /** Ends a group that other members could not form. */
    void discard() {
        abort();
        CleanUp.run(context.toString(), this::close);
    }

    int operationsInFlight() {
        return engines.engines().mapToInt(Engine::operationsInFlight).sum();
    }

    /** Returns the first failure of a communicator, or empty. */
    public Optional<JcclException> failure() {
        return engines.engines()
                .map(engine -> engine.failure.get())
                .filter(Objects::nonNull)
                .findFirst();
    }

    /** Whether {@link #close} was called. */
    public boolean isClosed() {
        synchronized (groupsMade) {
            return closed;
        }
    }

    /**
     * Closes groups that were made from this one, then the engines, then what belongs to the group.
     * Idempotent.
     */
    public void close() {
        List<Group> open;
        synchronized (groupsMade) {
            if (closed) {
                return;
            }
            closed = true;
            made.removeIf(Group::isClosed);
            open = List.copyOf(made);
            made.clear();
        }
        OpenGroups.remove(this);
        List<Runnable> steps = new ArrayList<>();
        if (!open.isEmpty()) {
            CleanUp.log(
                    context.toString(),
                    "closed before groups that were made from it: "
                            + open.stream().map(group -> group.context.group()).toList()
                            + "; they are closed first. Close them before this group");
        }
        open.forEach(group -> steps.add(group::close));
        engines.forEach(
                engine -> {
                    steps.add(() -> engine.close(CLOSE_GRACE));
                    steps.add(engine.observers()::groupClosed);
                    steps.add(() -> world.watchdog().remove(engine));
                });
        steps.add(onClose);
        runAll(steps);
    }

    /** Runs all steps, also if some fail, so that no thread is left. Throws the first failure. */
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
