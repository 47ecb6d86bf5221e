package org.jccl.internal.group;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.jccl.BackendOptions;
import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.GroupInfo;
import org.jccl.Interop;
import org.jccl.JcclException;
import org.jccl.OnFailure;
import org.jccl.OperationTimeoutException;
import org.jccl.PeerLostException;
import org.jccl.Store;
import org.jccl.StoreException;
import org.jccl.StoreTimeoutException;
import org.jccl.UsageException;
import org.jccl.internal.backend.Backend;
import org.jccl.internal.backend.DeviceRuntimes;
import org.jccl.internal.device.StreamEngine;
import org.jccl.internal.diagnosis.DesyncDetector;
import org.jccl.internal.diagnosis.Diagnosis;
import org.jccl.internal.engine.Engine;
import org.jccl.internal.engine.Watchdog;
import org.jccl.internal.host.DevicePlace;
import org.jccl.internal.host.HostEngine;
import org.jccl.internal.host.TensorPlace;
import org.jccl.internal.observe.Listener;
import org.jccl.internal.observe.Observation;
import org.jccl.internal.staged.StagedPlace;
import org.jccl.spi.BoundedCall;
import org.jccl.spi.CleanUp;
import org.jccl.spi.Communicator;
import org.jccl.spi.CommunicatorConfig;
import org.jccl.spi.Durations;
import org.jccl.spi.HostCommunicator;
import org.jccl.spi.SilentStore;
import org.jccl.spi.StreamCommunicator;
import org.jccl.store.PrefixStore;

/**
 * What stands behind a process group: one engine for each device type, the store, and sub-groups.
 */
public final class Group {

    /** How long a closing group waits for another message to end. */
    private static final Duration CLOSE_PATIENCE = Duration.ofSeconds(1);

    /** How long a look at the store may take that only explains. */
    private static final Duration LOOK_PATIENCE = Duration.ofSeconds(2);

    /** How long the ranks that are left may take at least to form a communicator. */
    private static final Duration SHORTEST_FORMING = Duration.ofSeconds(10);

    /** What the ranks of a group tell each other of trouble. */
    private static final String DESYNC = "desync";

    private record Bound(Backend backend, Engine engine) {

        boolean isFor(String deviceType) {
            return deviceType().equals(deviceType);
        }

        String deviceType() {
            return backend.device().type();
        }
    }

    private final FailureContext context;
    private final int size;
    private final List<Integer> worldRanks;
    private final Optional<Store> store;
    private final boolean rankZeroServes;
    private final Optional<TorchKeys> torch;
    private final Duration timeout;
    private final Watchdog watchdog;
    private final Diagnosis diagnosis;
    private final Observation observation;
    private final OnFailure onFailure;
    private final Runnable onClose;

    /** One or two as a rule, which each operation looks through. */
    private final List<Bound> bounds = new ArrayList<>();

    private final Map<List<Integer>, Integer> groupsMade = new HashMap<>();
    private int splits;
    private int shrinks;
    private int monitoredBarriers;
    private boolean closed;

    private Group(
            FailureContext context,
            List<Integer> worldRanks,
            Optional<Store> store,
            boolean rankZeroServes,
            Optional<TorchKeys> torch,
            Duration timeout,
            Watchdog watchdog,
            Diagnosis diagnosis,
            Observation observation,
            OnFailure onFailure,
            Runnable onClose) {
        this.context = context;
        this.size = worldRanks.size();
        this.worldRanks = worldRanks;
        this.store = store.map(root -> new PrefixStore(context.group(), root));
        this.rankZeroServes = rankZeroServes;
        this.torch = torch;
        this.timeout = timeout;
        this.watchdog = watchdog;
        this.diagnosis = diagnosis;
        this.observation = observation;
        this.onFailure = onFailure;
        this.onClose = onClose;
    }

    /**
     * Connects the world, with the whole timeout, and a store that nobody says who serves.
     *
     * @param rank this process's rank
     * @param size number of ranks
     * @param store reached by all ranks, or empty
     * @param interop what else may be a rank; anything but none needs a store
     * @param timeout deadline of connecting and of each operation
     * @param backends at least one, the preferred one for barriers first
     * @param onFailure what a failure does, of sub-groups too
     * @param onClose called when the group is closed, or can not be made
     * @return the group
     */
    public static Group world(
            int rank,
            int size,
            Optional<Store> store,
            Interop interop,
            Duration timeout,
            List<Backend> backends,
            OnFailure onFailure,
            Runnable onClose) {
        return world(
                rank, size, store, false, interop, timeout, timeout, backends, onFailure, List.of(),
                onClose);
    }

    /**
     * Connects the world.
     *
     * @param rank this process's rank
     * @param size number of ranks
     * @param store reached by all ranks, or empty
     * @param rankZeroServes whether the store is in the process of rank 0
     * @param interop what else may be a rank; anything but none needs a store
     * @param timeout deadline of each operation
     * @param joinTimeout deadline of connecting
     * @param backends at least one, the preferred one for barriers first
     * @param onFailure what a failure does, of sub-groups too
     * @param listeners are told what it does, and sub-groups too
     * @param onClose called when the group is closed, or can not be made
     * @return the group
     */
    public static Group world(
            int rank,
            int size,
            Optional<Store> store,
            boolean rankZeroServes,
            Interop interop,
            Duration timeout,
            Duration joinTimeout,
            List<Backend> backends,
            OnFailure onFailure,
            List<Listener> listeners,
            Runnable onClose) {
        long deadline = System.nanoTime() + joinTimeout.toNanos();
        FailureContext context = FailureContext.ofGroup("world", rank);
        // First, since it refuses folders: the others have threads by then.
        Observation observation = new Observation("rank-" + rank, listeners, timeout);
        Watchdog watchdog = new Watchdog("rank-" + rank);
        Diagnosis diagnosis = new Diagnosis("rank-" + rank, store);
        Runnable end =
                () ->
                        runAll(
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
                            store,
                            rankZeroServes,
                            TorchKeys.world(interop, store),
                            timeout,
                            watchdog,
                            diagnosis,
                            observation,
                            onFailure,
                            end);
        } catch (RuntimeException | Error e) {
            CleanUp.run(context.toString(), end);
            throw e;
        }
        world.connect(backends, Optional.empty(), List.of(), OptionalInt.empty(), deadline);
        return world;
    }

    private void connect(
            List<Backend> backends,
            Optional<Group> parent,
            List<Integer> ranks,
            OptionalInt color,
            long deadline) {
        try {
            for (Backend backend : backends) {
                long start = System.nanoTime();
                if (backend.isForeign() || backend.isStaged()) {
                    DeviceRuntimes.of(backend.device()); // the library may ask which one is current
                }
                Optional<Store> backendStore =
                        store.map(mine -> new PrefixStore(backend.storeName(), mine));
                Optional<Store> meeting =
                        torch.map(keys -> keys.communicator(backend.device().type()))
                                .or(() -> backendStore);
                Function<Optional<Communicator>, Communicator> create =
                        parentCommunicator ->
                                create(
                                        backend,
                                        color,
                                        new CommunicatorConfig(
                                                context.group(),
                                                context.rank(),
                                                size,
                                                meeting,
                                                timeout,
                                                left(deadline),
                                                backend.isStaged() ? Device.CPU : backend.device(),
                                                torch.map(TorchKeys::interop).orElse(Interop.NONE),
                                                backend.options(),
                                                parentCommunicator,
                                                ranks));
                Optional<Engine> from =
                        parent.flatMap(group -> group.bound(backend.device().type()))
                                .map(Bound::engine);
                DesyncDetector detector =
                        new DesyncDetector(
                                backendStore.map(
                                        mine -> () -> desyncStore(backend, diagnosis.client())),
                                diagnosis,
                                context.rank(),
                                size,
                                rankZeroServes,
                                diagnosis.departures(
                                        root -> desyncStore(backend, root), context.rank(), size));
                Communicator communicator = create(from, create, detector);
                Engine engine = engineOrClose(backend, communicator, detector);
                engine.observe(observation.of(info(backend), backend.worksOnHost()));
                if (onFailure == OnFailure.END_PROCESS) {
                    engine.endProcessOnFailure();
                }
                watchdog.add(engine);
                bounds.add(new Bound(backend, engine));
                engine.observers().groupMade(System.nanoTime() - start);
            }
        } catch (JcclException e) {
            JcclException named = named(e);
            giveUp(named);
            throw named.at(context);
        } catch (RuntimeException | Error e) {
            giveUp(e);
            throw e;
        }
    }

    /** Closes what was made of the group. It fails, so that others do not take it for closed. */
    private void giveUp(Throwable why) {
        JcclException cause =
                new GroupAbortedException(context, "the group could not be made: " + why, why);
        bounds.forEach(bound -> CleanUp.run(context.toString(), () -> bound.engine().abort(cause)));
        CleanUp.run(context.toString(), this::close);
    }

    private static Communicator create(
            Optional<Engine> from,
            Function<Optional<Communicator>, Communicator> create,
            DesyncDetector detector) {
        try {
            // The parent must not be freed while another communicator is made out of it.
            return from.isPresent()
                    ? from.get().inside(each -> create.apply(Optional.of(each)))
                    : create.apply(Optional.empty());
        } catch (PeerLostException e) {
            // The rank it was lost to may itself have given up because of another one.
            throw detector.explainSoon(e);
        } catch (JcclException e) {
            // Others lose this rank now, and ask it why.
            detector.noteFailure(e);
            if (SilentStore.isCauseOf(e)) {
                detector.publishLater();
            } else {
                detector.publishSoon();
            }
            throw e;
        }
    }

    private static Duration left(long deadline) {
        return Duration.ofNanos(
                Math.max(TimeUnit.MILLISECONDS.toNanos(1), deadline - System.nanoTime()));
    }

    /** Names rank 0 where it serves the store, and the store is why something failed. */
    private JcclException named(JcclException failure) {
        boolean mayBeStore =
                failure instanceof StoreException || failure instanceof OperationTimeoutException;
        int zero = worldRanks.indexOf(0);
        if (!rankZeroServes || !mayBeStore || zero == context.rank()) {
            return failure;
        }
        String served = "rank 0 of the world, which serves the store, ";
        if (SilentStore.isCauseOf(failure)) {
            return doesNotAnswer(served, failure);
        }
        try {
            Runnable look = () -> store.orElseThrow().check(List.of("anything"));
            if (BoundedCall.run("jccl-look-at-store", look, LOOK_PATIENCE)) {
                return failure;
            }
        } catch (StoreTimeoutException e) {
            CleanUp.failed(context.toString(), e);
        } catch (StoreException e) {
            JcclException lost =
                    new PeerLostException(context, served + "is gone: " + failure.reason(), zero);
            lost.addSuppressed(failure);
            return lost;
        }
        return doesNotAnswer(served, failure);
    }

    private OperationTimeoutException doesNotAnswer(String served, JcclException failure) {
        return new OperationTimeoutException(
                context, served + "does not answer: " + failure.reason(), failure);
    }

    private Store desyncStore(Backend backend, Store root) {
        Store own = new PrefixStore(context.group(), root);
        return new PrefixStore(DESYNC, new PrefixStore(backend.storeName(), own));
    }

    /**
     * Only a split has all ranks of the parent take part, which libraries need to make one
     * communicator out of another.
     */
    private static Communicator create(
            Backend backend, OptionalInt color, CommunicatorConfig config) {
        Optional<Communicator> divided =
                config.parent().filter(from -> from.capabilities().splits());
        return color.isPresent() && divided.isPresent()
                ? divided.get().split(color.getAsInt(), config)
                : backend.provider().create(config);
    }

    private GroupInfo info(Backend backend) {
        return new GroupInfo(
                context.group(),
                context.rank(),
                size,
                worldRanks,
                backend.provider().name(),
                backend.device());
    }

    /** An engine that can not be made does not own the communicator yet. */
    private Engine engineOrClose(
            Backend backend, Communicator communicator, DesyncDetector detector) {
        try {
            return engine(backend, communicator, detector);
        } catch (RuntimeException | Error e) {
            CleanUp.run(context.toString(), communicator::close);
            throw e;
        }
    }

    private Engine engine(Backend backend, Communicator communicator, DesyncDetector detector) {
        if (communicator instanceof HostCommunicator host) {
            return new HostEngine(host, context, timeout, detector, place(backend));
        }
        return new StreamEngine(
                (StreamCommunicator) communicator,
                context,
                timeout,
                detector,
                DeviceRuntimes.of(backend.device()),
                backend.device(),
                backend.options().map(BackendOptions::highPriorityStream).orElse(false));
    }

    private TensorPlace place(Backend backend) {
        if (backend.device().isCpu()) {
            return TensorPlace.HOST;
        }
        return backend.isStaged()
                ? new StagedPlace(backend.device(), context, size)
                : new DevicePlace(backend.device());
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
        return size;
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
        return bound(deviceType).map(bound -> bound.backend().provider().name());
    }

    /**
     * The devices of this rank, one for each backend.
     *
     * @return in the order of the backends
     */
    public List<Device> devices() {
        return bounds.stream().map(bound -> bound.backend().device()).toList();
    }

    private Optional<Bound> bound(String deviceType) {
        return bounds.stream().filter(bound -> bound.isFor(deviceType)).findFirst();
    }

    /**
     * The engine for the tensors of a device.
     *
     * @param device where they are
     * @return the engine
     * @throws UsageException when the group has no backend for its device
     */
    public Engine engineOf(Device device) {
        for (int i = 0; i < bounds.size(); i++) {
            Bound bound = bounds.get(i);
            if (bound.isFor(device.type())) {
                requireSame(device, bound.backend().device());
                return bound.engine();
            }
        }
        throw new UsageException(
                context,
                "tensor is on "
                        + device
                        + ", but the group was made for "
                        + bounds.stream().map(Bound::deviceType).toList()
                        + "; name a backend for it, as in 'cpu:a,"
                        + device.type()
                        + ":b'");
    }

    private void requireSame(Device device, Device place) {
        if (!place.isCpu() && !device.equals(place)) {
            throw new UsageException(
                    context, "tensor is on " + device + ", but this rank's device is " + place);
        }
    }

    /**
     * The engine for barriers.
     *
     * @return the first one
     */
    public Engine defaultEngine() {
        return bounds.get(0).engine();
    }

    private void requireUsable() {
        bounds.forEach(bound -> bound.engine().requireUsable());
    }

    private Store requireStore(String operation) {
        if (torch.isPresent()) {
            throw new UsageException(context, operation + " is unknown to PyTorch's ranks");
        }
        return store.orElseThrow(
                () ->
                        new UsageException(
                                context,
                                operation
                                        + " needs a store; build the group with one, or under a"
                                        + " launcher"));
    }

    /**
     * A barrier over the store.
     *
     * @param wait how long rank 0 waits
     * @param waitAllRanks whether all missing ranks are named
     * @throws UsageException when the time is null, negative or more than a day, or there is no
     *     store
     * @throws OperationTimeoutException when ranks are missing, or the store does not answer
     * @throws PeerLostException when rank 0, which serves the store, is gone
     * @throws StoreException when the store is gone that somebody else serves
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
        MonitoredBarrier barrier = new MonitoredBarrier(context, size, shared, prefix);
        try {
            barrier.pass(wait, waitAllRanks);
        } catch (JcclException e) {
            throw named(e).at(context);
        }
    }

    /**
     * Makes a sub-group of the given ranks.
     *
     * @param ranks ranks of this group
     * @return empty when this rank is not among them
     */
    public Optional<Group> newGroup(List<Integer> ranks) {
        long deadline = System.nanoTime() + timeout.toNanos();
        requireUsable();
        MemberRanks.check(ranks, size, context);
        Optional<TorchKeys> keys = torch.map(own -> own.next(context, ranks));
        int mine = ranks.indexOf(context.rank());
        OptionalInt color = keys.map(own -> own.color(ranks)).orElse(OptionalInt.empty());
        if (color.isPresent()) {
            prepareSplits(mine < 0 ? mine : color.getAsInt());
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
        long deadline = System.nanoTime() + timeout.toNanos();
        requireUsable();
        Store shared = requireStore("split");
        int number;
        synchronized (groupsMade) {
            number = splits++;
        }
        SplitAgreement agreement =
                new SplitAgreement(shared, "split/" + number + "/", context, size);
        List<Integer> ranks;
        try {
            ranks = agreement.enter(color, key, timeout);
        } catch (JcclException e) {
            throw named(e).at(context);
        }
        prepareSplits(color);
        if (color < 0) {
            return Optional.empty();
        }
        String name = context.group() + "/split" + number + "-" + color;
        return Optional.of(
                child(
                        name,
                        torch,
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
        bounds.forEach(bound -> bound.engine().abort(cause));
        bounds.forEach(bound -> bound.engine().replaced());
        // A rank that is lost now is waited for as long as that, since nobody may notice it.
        Duration twice = patience.multipliedBy(2);
        Duration forming = SHORTEST_FORMING.compareTo(twice) > 0 ? SHORTEST_FORMING : twice;
        long end = System.nanoTime() + timeout.toNanos();
        while (true) {
            int attempt;
            synchronized (groupsMade) {
                attempt = shrinks++;
            }
            try {
                Optional<Group> made = shrink(shared, attempt, patience, forming);
                if (made.isPresent()) {
                    return made.get();
                }
            } catch (StoreException e) {
                throw shrinkNeedsStore(e);
            }
            if (System.nanoTime() - end >= 0) {
                throw new OperationTimeoutException(
                        context,
                        "shrink: no group of the ranks that are left came about in "
                                + Durations.text(timeout)
                                + ", as ranks were lost again and again; end the job");
            }
        }
    }

    private Optional<Group> shrink(Store shared, int attempt, Duration patience, Duration forming) {
        ShrinkAgreement agreement =
                new ShrinkAgreement(context, size, shared, "shrink/" + attempt + "/");
        List<Integer> left = agreement.enter(patience);
        Optional<Group> made = Optional.empty();
        try {
            made = Optional.of(ofSurvivors(left, attempt, System.nanoTime() + forming.toNanos()));
        } catch (JcclException e) {
            CleanUp.failed(context.toString(), e);
        }
        if (!agreement.conclude(made.isPresent(), left.size(), forming.multipliedBy(2))) {
            made.ifPresent(
                    group -> {
                        group.abort();
                        CleanUp.run(context.toString(), group::close);
                    });
            return Optional.empty();
        }
        return made;
    }

    private void requireShrinkable() {
        for (Bound bound : bounds) {
            bound.engine().requireOpen();
            if (!bound.engine().capabilities().shrinks()) {
                throw new UsageException(
                        context,
                        "shrink: with backend "
                                + bound.backend().provider().name()
                                + " no group outlives a lost rank; start all ranks again, from a"
                                + " checkpoint");
            }
        }
    }

    private StoreException shrinkNeedsStore(StoreException failure) {
        return new StoreException(
                context
                        + ": shrink needs the store, which is gone"
                        + (rankZeroServes
                                ? " with rank 0 of the world, which served it; under 'jccl run' or"
                                        + " torchrun the launcher serves it: "
                                : ": ")
                        + failure.reason(),
                failure);
    }

    /** Libraries split a communicator that is idle, and with all its ranks. */
    private void prepareSplits(int color) {
        bounds.stream()
                .map(Bound::engine)
                .filter(engine -> engine.capabilities().splits())
                .forEach(engine -> prepareSplit(engine, color));
    }

    private void prepareSplit(Engine engine, int color) {
        engine.awaitQuiet();
        try {
            if (color < 0) {
                engine.inside(
                        communicator -> {
                            communicator.declineSplit();
                            return null;
                        });
            }
        } catch (JcclException e) {
            throw e.at(context);
        }
    }

    private Group child(
            String name,
            Optional<TorchKeys> keys,
            int rank,
            List<Integer> ranks,
            OptionalInt color,
            long deadline) {
        List<Integer> members = ranks.stream().map(worldRanks::get).toList();
        Group group = member(name, keys, rank, members);
        group.connect(
                bounds.stream().map(Bound::backend).toList(),
                Optional.of(this),
                List.copyOf(ranks),
                color,
                deadline);
        return group;
    }

    /** Nothing is made out of this group's communicators, which have failed. */
    private Group ofSurvivors(List<Integer> ranks, int attempt, long deadline) {
        List<Integer> members = ranks.stream().map(worldRanks::get).toList();
        String name = context.group() + "/shrink" + attempt;
        Group group = member(name, Optional.empty(), ranks.indexOf(context.rank()), members);
        group.connect(
                bounds.stream().map(Bound::backend).toList(),
                Optional.empty(),
                List.of(),
                OptionalInt.empty(),
                deadline);
        return group;
    }

    private Group member(String name, Optional<TorchKeys> keys, int rank, List<Integer> members) {
        return new Group(
                childContext(name, rank, members),
                members,
                store,
                rankZeroServes,
                keys,
                timeout,
                watchdog,
                diagnosis,
                observation,
                onFailure,
                () -> {});
    }

    /** Messages name ranks of the group, which the world may know by other numbers. */
    private static FailureContext childContext(String name, int rank, List<Integer> members) {
        boolean same = members.equals(IntStream.range(0, members.size()).boxed().toList());
        return new FailureContext(name, rank, "", -1, same ? List.of() : members);
    }

    /** Fails everything that runs on this group. */
    public void abort() {
        JcclException cause = new GroupAbortedException(context, "abort() was called");
        bounds.forEach(bound -> bound.engine().abort(cause));
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
        for (Bound bound : bounds) {
            steps.add(() -> bound.engine().close(CLOSE_PATIENCE));
            steps.add(bound.engine().observers()::groupClosed);
            steps.add(() -> watchdog.remove(bound.engine()));
        }
        steps.add(onClose);
        runAll(steps);
    }

    /** What fails in one step must not keep the others away, which would leave threads behind. */
    private static void runAll(List<Runnable> steps) {
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
