package org.jccl.internal.api;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import org.jccl.BackendOptions;
import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.GroupListener;
import org.jccl.Interop;
import org.jccl.OnFailure;
import org.jccl.ProcessGroup;
import org.jccl.ProcessGroupBuilder;
import org.jccl.Store;
import org.jccl.StoreException;
import org.jccl.TlsCredentials;
import org.jccl.UsageException;
import org.jccl.bootstrap.ErrorFile;
import org.jccl.bootstrap.Membership;
import org.jccl.bootstrap.Rendezvous;
import org.jccl.internal.backend.Backend;
import org.jccl.internal.backend.Backends;
import org.jccl.internal.backend.VirtualThreads;
import org.jccl.internal.checks.Require;
import org.jccl.internal.group.GroupKeys;
import org.jccl.internal.group.WorldAgreement;
import org.jccl.internal.group.WorldBuilder;
import org.jccl.internal.observe.Listener;
import org.jccl.spi.BackendProvider.World;
import org.jccl.spi.Descriptors;
import org.jccl.spi.Durations;
import org.jccl.spi.Polling;
import org.jccl.store.HashStore;
import org.jccl.store.PrefixStore;
import org.jccl.store.TcpStore;

/** Chooses the backends, finds the other ranks, and connects the world. */
public final class DefaultProcessGroupBuilder implements ProcessGroupBuilder {

    private static final String ENVIRONMENT = "env://";

    private static final String CHECK_CALLS = "JCCL_CHECK_CALLS";

    /** The pause before a store that is about to close is tried again; also the shortest limit. */
    private static final Duration RETRY_PAUSE = Duration.ofMillis(50);

    /** PyTorch's default of backends for the CPU; that of accelerators is ours too. */
    private static final Duration INTEROP_CPU_TIMEOUT = Duration.ofMinutes(30);

    /** An operation has one bit for each listener. */
    private static final int MAX_LISTENERS = 16;

    /**
     * File descriptors for libraries, store and diagnosis. A backend checks those for its peers.
     */
    private static final int DESCRIPTORS = 16;

    private Optional<String> backend = Optional.empty();
    private Optional<String> initMethod = Optional.empty();
    private Optional<Store> store = Optional.empty();
    private OptionalInt rank = OptionalInt.empty();
    private OptionalInt worldSize = OptionalInt.empty();
    private Interop interop = Interop.NONE;
    private OnFailure onFailure = OnFailure.THROW;
    private Optional<Boolean> checkCalls = Optional.empty();
    private Optional<TlsCredentials> tls = Optional.empty();
    private OptionalInt minimum = OptionalInt.empty();
    private final List<Listener> listeners = new ArrayList<>();
    private Optional<Device> device = Optional.empty();
    private Optional<Duration> requestedTimeout = Optional.empty();
    private Optional<Duration> requestedJoinTimeout = Optional.empty();
    private Duration timeout = DEFAULT_TIMEOUT;
    private Duration joinTimeout = DEFAULT_TIMEOUT;
    private final Map<String, BackendOptions> options = new HashMap<>();

    private final GroupKeys.Joining joining;

    /**
     * Creates a builder.
     *
     * @param joining joins worlds that have ranks of another API
     */
    DefaultProcessGroupBuilder(GroupKeys.Joining joining) {
        this.joining = joining;
    }

    @Override
    public ProcessGroupBuilder backend(String names) {
        backend = Optional.of(Require.nonNull(names, "backend").toLowerCase(Locale.ROOT));
        return this;
    }

    @Override
    public ProcessGroupBuilder initMethod(String url) {
        initMethod = Optional.of(Require.nonNull(url, "init method"));
        return this;
    }

    @Override
    public ProcessGroupBuilder store(Store shared) {
        store = Optional.of(Require.nonNull(shared, "store"));
        return this;
    }

    @Override
    public ProcessGroupBuilder rank(int value) {
        if (value < 0) {
            throw new UsageException(
                    FailureContext.NONE, "rank must not be negative, got " + value);
        }
        rank = OptionalInt.of(value);
        return this;
    }

    @Override
    public ProcessGroupBuilder worldSize(int value) {
        if (value < 1) {
            throw new UsageException(
                    FailureContext.NONE, "world size must be at least 1, got " + value);
        }
        worldSize = OptionalInt.of(value);
        return this;
    }

    @Override
    public ProcessGroupBuilder interop(Interop value) {
        interop = Require.nonNull(value, "interop");
        return this;
    }

    @Override
    public ProcessGroupBuilder timeout(Duration value) {
        requestedTimeout = Optional.of(checkTimeout("timeout", value));
        return this;
    }

    @Override
    public ProcessGroupBuilder joinTimeout(Duration value) {
        requestedJoinTimeout = Optional.of(checkTimeout("join timeout", value));
        return this;
    }

    private static Duration checkTimeout(String name, Duration value) {
        Require.nonNull(value, name);
        if (value.isNegative() || value.isZero() || value.compareTo(Duration.ofDays(1)) > 0) {
            throw new UsageException(
                    FailureContext.NONE,
                    name + " must be positive and at most a day, got " + Durations.text(value));
        }
        return value;
    }

    @Override
    public ProcessGroupBuilder device(Device value) {
        device = Optional.of(Require.nonNull(value, "device"));
        return this;
    }

    @Override
    public ProcessGroupBuilder options(BackendOptions value) {
        String of = Require.nonNull(value, "options").backend();
        options.put(Require.nonNull(of, "the options' backend"), value);
        return this;
    }

    @Override
    public ProcessGroupBuilder onFailure(OnFailure value) {
        onFailure = Require.nonNull(value, "onFailure");
        return this;
    }

    @Override
    public ProcessGroupBuilder checkCalls(boolean value) {
        checkCalls = Optional.of(value);
        return this;
    }

    @Override
    public ProcessGroupBuilder tls(TlsCredentials value) {
        tls = Optional.of(Require.nonNull(value, "tls"));
        return this;
    }

    @Override
    public ProcessGroupBuilder reconfigurable(int least) {
        if (least < 1) {
            throw new UsageException(
                    FailureContext.NONE,
                    "a generation has at least 1 rank, got a minimum of " + least);
        }
        minimum = OptionalInt.of(least);
        return this;
    }

    @Override
    public ProcessGroupBuilder listener(GroupListener value) {
        Listener listener = Listener.of(Require.nonNull(value, "listener"));
        if (listeners.size() == MAX_LISTENERS) {
            throw new UsageException(
                    FailureContext.NONE,
                    "a world has at most "
                            + MAX_LISTENERS
                            + " listeners; let one listener call"
                            + " others");
        }
        listeners.add(listener);
        return this;
    }

    @Override
    public ProcessGroup build() {
        long start = System.nanoTime();
        VirtualThreads.refuseForming(FailureContext.NONE, "build()");
        if (store.isEmpty() && initMethod.orElse(ENVIRONMENT).equals(ENVIRONMENT)) {
            ErrorFile.in(System.getenv())
                    .ifPresent(file -> file.recordUncaught(Thread.currentThread()));
        }
        Descriptors.require(DESCRIPTORS, "joining a world");
        Backends.Chosen chosen = Backends.choose(backend, device, interop, options);
        interop = chosen.interop();
        List<Backend> backends = chosen.all();
        timeout = requestedTimeout.orElseGet(() -> defaultTimeout(interop, backends));
        joinTimeout = requestedJoinTimeout.orElse(timeout);
        backends.forEach(each -> OptionChecks.requireInterop(interop, each));
        checksCalls();
        tls = tls.or(() -> TlsCredentials.in(System.getenv()));
        tls.ifPresent(each -> OptionChecks.requireEncryption(interop, backends, store));
        Optional<LibraryWorld> known = libraryWorld(backends);
        if (minimum.isPresent()) {
            OptionChecks.requireReplaceable(known.map(LibraryWorld::backend), interop);
        }
        if (known.isPresent() && known.get().world().broadcast().isEmpty()) {
            World world = known.get().world();
            return new DefaultProcessGroup(
                    world(
                                    world.rank(),
                                    world.size(),
                                    withDevices(
                                            backends,
                                            new LocalDevice(
                                                    world.rank(),
                                                    world.size(),
                                                    world.localRank(),
                                                    Optional.empty())))
                            .joinTimeout(joinTimeout)
                            .connect());
        }
        Joined joined = known.map(this::join).orElseGet(() -> join(start));
        WorldBuilder world;
        try {
            world = world(joined, backends, left(start));
        } catch (RuntimeException | Error e) {
            joined.rendezvous().close();
            throw e;
        }
        return new DefaultProcessGroup(
                minimum.isPresent()
                        ? world.connectGeneration(minimum.getAsInt())
                        : world.connect());
    }

    /** Whether this rank is the whole world, by what the program says, and so meets nobody. */
    private boolean isSingle() {
        return store.isEmpty()
                && initMethod.isEmpty()
                && rank.equals(OptionalInt.of(0))
                && worldSize.equals(OptionalInt.of(1));
    }

    /** Ranks of another API wait longer for each other on the CPU. */
    static Duration defaultTimeout(Interop interop, List<Backend> backends) {
        boolean onCpu = backends.stream().anyMatch(each -> each.device().isCpu());
        return interop != Interop.NONE && onCpu ? INTEROP_CPU_TIMEOUT : DEFAULT_TIMEOUT;
    }

    private WorldBuilder world(Joined joined, List<Backend> backends, Duration left) {
        Membership member = joined.rendezvous().membership();
        // Ranks of another API and replaced ranks share their store with earlier ranks.
        boolean fresh = interop == Interop.NONE && minimum.isEmpty();
        LocalDevice local =
                new LocalDevice(
                        member.rank(),
                        member.worldSize(),
                        member.localRank(),
                        Optional.of(joined.part()).filter(part -> fresh));
        List<Backend> own = withDevices(backends, local);
        return world(member.rank(), member.worldSize(), own)
                .store(joined.part(), servedByRank0(joined.rendezvous()))
                .keys(joined.keys())
                .joinTimeout(left)
                .onClose(joined.rendezvous()::close);
    }

    private WorldBuilder world(int rank, int size, List<Backend> chosen) {
        return new WorldBuilder(rank, size, timeout, chosen)
                .onFailure(onFailure)
                .checkCalls(checksCalls())
                .tls(tls)
                .listeners(listeners);
    }

    private boolean checksCalls() {
        boolean checks = checkCalls.orElseGet(() -> isSet(System.getenv(CHECK_CALLS)));
        if (checks && interop != Interop.NONE) {
            throw new UsageException(
                    FailureContext.NONE,
                    "calls cannot be checked in a world with ranks of %s, which do not take part; leave out checkCalls(true) and %s"
                            .formatted(interop, CHECK_CALLS));
        }
        return checks;
    }

    private static boolean isSet(String variable) {
        return switch (variable == null ? "" : variable.strip()) {
            case "1", "true" -> true;
            case "", "0", "false" -> false;
            default ->
                    throw new UsageException(
                            FailureContext.NONE,
                            CHECK_CALLS + " must be 0 or 1, got '" + variable + "'");
        };
    }

    /**
     * The other ranks of a world.
     *
     * @param part the part of the store that belongs to this world alone
     * @param keys where communicators are formed, if the world has ranks of another API
     */
    private record Joined(Rendezvous rendezvous, Store part, Optional<GroupKeys> keys) {}

    /** Joins a world that a library knows. Each such world has a store of its own. */
    private Joined join(LibraryWorld known) {
        World world = known.world();
        Rendezvous rendezvous =
                Rendezvous.in(known.backend(), world, world.broadcast().orElseThrow(), joinTimeout);
        return new Joined(rendezvous, rendezvous.store(), Optional.empty());
    }

    /**
     * Finds the other ranks. A rank that builds its world again before rank 0 does may reach the
     * store of the old world, if rank 0 serves it. That store ends soon, so the rank tries again.
     */
    private Joined join(long start) {
        while (true) {
            Rendezvous rendezvous = rendezvous(left(start));
            try {
                return join(rendezvous, start);
            } catch (StoreException e) {
                rendezvous.close();
                if (rendezvous.membership().rank() == 0 || !servedByRank0(rendezvous)) {
                    throw e;
                }
                if (System.nanoTime() - start > joinTimeout.toNanos()) {
                    throw new StoreException(
                            "rank 0, which serves the store, is gone or does not answer: "
                                    + e.reason(),
                            e);
                }
                Polling.sleep(RETRY_PAUSE);
            } catch (RuntimeException | Error e) {
                rendezvous.close();
                throw e;
            }
        }
    }

    /** Returns what is left of the time for joining. */
    private Duration left(long start) {
        Duration left = joinTimeout.minusNanos(System.nanoTime() - start);
        return left.compareTo(RETRY_PAUSE) > 0 ? left : RETRY_PAUSE;
    }

    private Rendezvous rendezvous(Duration limit) {
        if (isSingle()) {
            return Rendezvous.over(HashStore.create(limit), rank, worldSize);
        }
        return store.isPresent()
                ? Rendezvous.over(store.get(), rank, worldSize)
                : Rendezvous.join(
                        initMethod.orElse(ENVIRONMENT),
                        rank,
                        worldSize,
                        limit,
                        System.getenv(),
                        tls);
    }

    private boolean servedByRank0(Rendezvous rendezvous) {
        return store.isEmpty()
                && rendezvous.store() instanceof TcpStore
                && !rendezvous.membership().storeIsHosted();
    }

    /**
     * Finds the part of the store that belongs to this world. A store may outlive a world, and no
     * world may read what another one wrote. The number of the attempt is no part of the name:
     * torchrun's agents count differently, since one that restarts its ranks for those of another
     * node does not count it.
     */
    private Joined join(Rendezvous rendezvous, long start) {
        Membership member = rendezvous.membership();
        boolean servedByRank0 = servedByRank0(rendezvous);
        if (interop != Interop.NONE) {
            GroupKeys keys =
                    joining.join(
                            interop, rendezvous.store(), member, store.isEmpty(), servedByRank0);
            return new Joined(rendezvous, keys.world(), Optional.of(keys));
        }
        if (minimum.isPresent()) {
            OptionChecks.requireRanks(minimum.getAsInt(), member.worldSize());
            // JCCL's launcher, which starts ranks of such a world again, counts alike on all nodes.
            Store attempt =
                    member.restarts() == 0
                            ? rendezvous.store()
                            : new PrefixStore("restart/" + member.restarts(), rendezvous.store());
            Store part = new PrefixStore("generations/" + member.worldSize(), attempt);
            return new Joined(rendezvous, part, Optional.empty());
        }
        WorldAgreement agreement =
                new WorldAgreement(
                        rendezvous.store(),
                        member.rank(),
                        member.worldSize(),
                        servedByRank0,
                        joinTimeout,
                        left(start));
        return new Joined(rendezvous, agreement.enter(), Optional.empty());
    }

    private List<Backend> withDevices(List<Backend> backends, LocalDevice local) {
        return backends.stream()
                .map(each -> device.isPresent() || each.device().isCpu() ? each : local.of(each))
                .toList();
    }

    /** A world that a library knows. */
    private record LibraryWorld(String backend, World world) {}

    /** Returns the world of a library that knows it, unless the user described the world. */
    private Optional<LibraryWorld> libraryWorld(List<Backend> backends) {
        if (initMethod.isPresent()
                || store.isPresent()
                || rank.isPresent()
                || worldSize.isPresent()) {
            return Optional.empty();
        }
        for (Backend each : backends) {
            Optional<World> world = each.provider().world(each.options());
            if (world.isPresent()) {
                return Optional.of(new LibraryWorld(each.provider().name(), world.get()));
            }
        }
        return Optional.empty();
    }
}
