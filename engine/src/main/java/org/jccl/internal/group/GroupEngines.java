package org.jccl.internal.group;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jccl.BackendOptions;
import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.GroupInfo;
import org.jccl.Interop;
import org.jccl.JcclException;
import org.jccl.OnFailure;
import org.jccl.PeerLostException;
import org.jccl.Store;
import org.jccl.UsageException;
import org.jccl.internal.backend.Backend;
import org.jccl.internal.backend.Backends;
import org.jccl.internal.backend.DeviceRuntimes;
import org.jccl.internal.device.StreamEngine;
import org.jccl.internal.diagnosis.CallCheck;
import org.jccl.internal.diagnosis.DesyncDetector;
import org.jccl.internal.engine.Engine;
import org.jccl.internal.host.DeviceLocation;
import org.jccl.internal.host.HostEngine;
import org.jccl.internal.host.TensorLocation;
import org.jccl.internal.operation.MemoryUses;
import org.jccl.internal.staged.StagedLocation;
import org.jccl.spi.Capabilities.Feature;
import org.jccl.spi.CleanUp;
import org.jccl.spi.Communicator;
import org.jccl.spi.CommunicatorConfig;
import org.jccl.spi.HostCommunicator;
import org.jccl.spi.SilentStore;
import org.jccl.spi.StreamCommunicator;
import org.jccl.store.PrefixStore;

/** The engines of a group, one for each type of device, and how they get their communicators. */
final class GroupEngines {

    /** The part of the store for diagnosis. */
    private static final String DESYNC = "desync";

    private record Entry(Backend backend, Engine engine) {

        boolean isFor(String deviceType) {
            return deviceType().equals(deviceType);
        }

        String deviceType() {
            return backend.device().type();
        }
    }

    /**
     * The group from which communicators are made.
     *
     * @param parent the group whose ranks these are, or empty
     * @param ranks ranks in that group
     * @param color the color of this group, if all ranks of the parent take part
     */
    record Origin(Optional<GroupEngines> parent, List<Integer> ranks, OptionalInt color) {

        /** Communicators are formed anew. */
        static final Origin NONE = new Origin(Optional.empty(), List.of(), OptionalInt.empty());
    }

    private final FailureContext context;
    private final List<Integer> worldRanks;
    private final Optional<Store> store;
    private final Optional<GroupKeys> interopKeys;
    private final WorldServices world;

    /** Usually one or two. Each operation searches them. */
    private final List<Entry> entries = new ArrayList<>();

    /**
     * Creates no engine yet.
     *
     * @param interopKeys where ranks of another API form communicators, or empty
     */
    GroupEngines(
            FailureContext context,
            List<Integer> worldRanks,
            Optional<Store> store,
            Optional<GroupKeys> interopKeys,
            WorldServices world) {
        this.context = context;
        this.worldRanks = worldRanks;
        this.store = store;
        this.interopKeys = interopKeys;
        this.world = world;
    }

    /**
     * Connects the engines, and waits for the other ranks.
     *
     * @param backends at least one, the preferred one for barriers first
     * @param deadline by {@link System#nanoTime}
     */
    void connect(List<Backend> backends, Origin origin, long deadline) {
        List<Backend> inOrder = new ArrayList<>(backends);
        if (interopKeys.isPresent() && interopKeys.get().cpuFirst()) {
            inOrder.sort(Comparator.comparing(each -> !each.device().isCpu()));
        }
        for (Backend backend : inOrder) {
            connect(backend, origin, deadline);
        }
    }

    private void connect(Backend backend, Origin origin, long deadline) {
        long start = System.nanoTime();
        if (backend.isDrivenByOtherBinding() || backend.isStaged()) {
            DeviceRuntimes.of(backend.device()); // the library may ask which one is current
        }
        Optional<Store> own = store.map(mine -> new PrefixStore(backend.storeName(), mine));
        DesyncDetector detector =
                new DesyncDetector(
                        own.map(mine -> () -> desyncStore(backend, world.diagnosis().client())),
                        world.diagnosis(),
                        context.rank(),
                        size(),
                        world.rankZeroServes(),
                        world.diagnosis()
                                .departures(
                                        root -> desyncStore(backend, root),
                                        context.rank(),
                                        worldRanks));
        Optional<CallCheck> check = callCheck(own);
        Communicator communicator = communicator(backend, own, origin, deadline, detector);
        Engine engine = engineOrClose(backend, communicator, detector);
        // Immediately, so that the group closes the engine if a later step fails.
        entries.add(new Entry(backend, engine));
        engine.observe(world.observation().of(info(backend), backend.worksOnHost()));
        if (world.onFailure() == OnFailure.END_PROCESS) {
            engine.endProcessOnFailure();
        }
        check.ifPresent(engine::checkCalls);
        world.watchdog().add(engine);
        engine.observers().groupMade(System.nanoTime() - start);
    }

    private Optional<CallCheck> callCheck(Optional<Store> own) {
        if (!world.checksCalls() || size() == 1) {
            return Optional.empty();
        }
        Store shared =
                own.orElseThrow(
                        () ->
                                new UsageException(
                                        context,
                                        "checking calls needs a store; build the group with one, or"
                                                + " under a launcher"));
        return Optional.of(new CallCheck(shared, context.rank(), size(), world.timeout()));
    }

    private Communicator communicator(
            Backend backend,
            Optional<Store> own,
            Origin origin,
            long deadline,
            DesyncDetector detector) {
        Optional<Store> rendezvous =
                interopKeys.map(keys -> keys.communicator(backend.device().type())).or(() -> own);
        Optional<Engine> parent =
                origin.parent().flatMap(engines -> engines.find(backend.device().type()));
        Function<Optional<Communicator>, Communicator> create =
                from ->
                        create(
                                backend,
                                origin.color(),
                                new CommunicatorConfig(
                                        context.group(),
                                        context.rank(),
                                        size(),
                                        rendezvous,
                                        world.timeout(),
                                        left(deadline),
                                        backend.isStaged() ? Device.CPU : backend.device(),
                                        interopKeys.map(GroupKeys::interop).orElse(Interop.NONE),
                                        interopKeys.map(GroupKeys::name),
                                        backend.options(),
                                        from,
                                        origin.ranks(),
                                        world.tls()));
        try {
            // The parent must not be freed while another communicator is made from it.
            return parent.isPresent()
                    ? parent.get().inside(each -> create.apply(Optional.of(each)))
                    : create.apply(Optional.empty());
        } catch (PeerLostException e) {
            // The lost rank may have given up because of another one.
            throw detector.explainSoon(e);
        } catch (JcclException e) {
            // The others lose this rank now and look for its reason.
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

    private Store desyncStore(Backend backend, Store root) {
        Store own = new PrefixStore(context.group(), root);
        return new PrefixStore(DESYNC, new PrefixStore(backend.storeName(), own));
    }

    /**
     * All ranks of the parent take part in a split only, and libraries need that to make one
     * communicator from another.
     */
    private static Communicator create(
            Backend backend, OptionalInt color, CommunicatorConfig config) {
        Optional<Communicator> divided =
                config.parent().filter(from -> from.capabilities().has(Feature.SPLIT));
        return color.isPresent() && divided.isPresent()
                ? divided.get().split(color.getAsInt(), config)
                : backend.provider().create(config);
    }

    private GroupInfo info(Backend backend) {
        return new GroupInfo(
                context.group(),
                context.rank(),
                size(),
                worldRanks,
                backend.provider().name(),
                backend.device());
    }

    /** Closes the communicator if the engine cannot be created, since no engine owns it yet. */
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
            HostEngine engine =
                    new HostEngine(host, context, world.timeout(), detector, location(backend));
            MemoryUses.add(engine, backend.device(), size());
            return engine;
        }
        StreamEngine engine =
                new StreamEngine(
                        (StreamCommunicator) communicator,
                        context,
                        world.timeout(),
                        detector,
                        DeviceRuntimes.of(backend.device()),
                        backend.device(),
                        backend.options().map(BackendOptions::highPriorityStream).orElse(false));
        MemoryUses.add(engine, backend.device(), size());
        return engine;
    }

    private TensorLocation location(Backend backend) {
        if (backend.device().isCpu()) {
            return TensorLocation.HOST;
        }
        return backend.isStaged()
                ? new StagedLocation(backend.device(), context, size())
                : new DeviceLocation(backend.device());
    }

    private int size() {
        return worldRanks.size();
    }

    List<Backend> backends() {
        return entries.stream().map(Entry::backend).toList();
    }

    /**
     * The backends of a group that is made from this one.
     *
     * @param call for the message
     * @param options in place of those that one of the backends has here, or empty
     */
    List<Backend> backends(String call, Optional<BackendOptions> options) {
        List<Backend> own = backends();
        if (options.isEmpty()) {
            return own;
        }
        String of = options.get().backend();
        if (own.stream().noneMatch(each -> each.provider().name().equals(of))) {
            throw new UsageException(
                    context,
                    "%s: the options are for %s, but this group uses %s"
                            .formatted(
                                    call,
                                    of,
                                    own.stream().map(each -> each.provider().name()).toList()));
        }
        return own.stream()
                .map(
                        each ->
                                each.provider().name().equals(of)
                                        ? new Backend(each.provider(), each.device(), options)
                                        : each)
                .toList();
    }

    void forEach(Consumer<Engine> action) {
        engines().forEach(action);
    }

    Stream<Engine> engines() {
        return entries.stream().map(Entry::engine);
    }

    /** Returns the engine for barriers: the first one, unless ranks of another API have theirs. */
    Engine forBarriers() {
        Entry first = entries.get(0);
        if (interopKeys.isEmpty()) {
            return first.engine();
        }
        boolean onCpu = !interopKeys.get().barriersOnDevice();
        return entries.stream()
                .filter(entry -> entry.backend().device().isCpu() == onCpu)
                .findFirst()
                .orElse(first)
                .engine();
    }

    Optional<Backend> backend(String deviceType) {
        return entries.stream()
                .filter(entry -> entry.isFor(deviceType))
                .map(Entry::backend)
                .findFirst();
    }

    boolean scalesAverages(String deviceType) {
        return find(deviceType)
                .filter(engine -> engine.capabilities().has(Feature.SCALED_AVERAGES))
                .isPresent();
    }

    private Optional<Engine> find(String deviceType) {
        return entries.stream()
                .filter(entry -> entry.isFor(deviceType))
                .map(Entry::engine)
                .findFirst();
    }

    /** Returns the engine for the tensors of a device. */
    Engine of(Device device) {
        for (int i = 0; i < entries.size(); i++) {
            Entry entry = entries.get(i);
            if (entry.isFor(device.type())) {
                requireSame(device, entry.backend().device());
                return entry.engine();
            }
        }
        throw new UsageException(
                context,
                "tensor is on %s, but the group was made for %s; name a backend for it, as in '%s'"
                        .formatted(
                                device,
                                entries.stream().map(Entry::deviceType).toList(),
                                Backends.naming(Backends.present(), backends(), device.type())));
    }

    private void requireSame(Device device, Device own) {
        if (!own.isCpu() && !device.equals(own)) {
            throw new UsageException(
                    context, "tensor is on " + device + ", but this rank's device is " + own);
        }
    }

    /** Libraries split a communicator only while it is idle, and with all its ranks. */
    void prepareSplits(int color) {
        engines()
                .filter(engine -> engine.capabilities().has(Feature.SPLIT))
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
}
