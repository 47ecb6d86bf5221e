package org.jccl.internal.api;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.locks.LockSupport;
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
import org.jccl.UsageException;
import org.jccl.bootstrap.ErrorFile;
import org.jccl.bootstrap.Membership;
import org.jccl.bootstrap.Rendezvous;
import org.jccl.internal.backend.Backend;
import org.jccl.internal.backend.Backends;
import org.jccl.internal.checks.Given;
import org.jccl.internal.group.WorldAgreement;
import org.jccl.internal.group.WorldBuilder;
import org.jccl.internal.observe.Listener;
import org.jccl.internal.torch.TorchKeys;
import org.jccl.internal.torch.TorchWorld;
import org.jccl.spi.BackendProvider.World;
import org.jccl.spi.Descriptors;
import org.jccl.spi.Durations;
import org.jccl.store.PrefixStore;
import org.jccl.store.TcpStore;

/** Finds backends and ranks, and builds the world of them. */
public final class DefaultProcessGroupBuilder implements ProcessGroupBuilder {

    private static final String ENVIRONMENT = "env://";

    private static final String CHECK_CALLS = "JCCL_CHECK_CALLS";

    /** Pause before another look at a store that is about to be closed; also the least limit. */
    private static final Duration COME_AGAIN = Duration.ofMillis(50);

    /** As many as an operation has bits for. */
    private static final int MOST_LISTENERS = 16;

    /** For the libraries, the store and its diagnosis; a backend asks for those of its peers. */
    private static final int DESCRIPTORS = 16;

    private Optional<String> backend = Optional.empty();
    private Optional<String> initMethod = Optional.empty();
    private Optional<Store> store = Optional.empty();
    private OptionalInt rank = OptionalInt.empty();
    private OptionalInt worldSize = OptionalInt.empty();
    private Interop interop = Interop.NONE;
    private OnFailure onFailure = OnFailure.THROW;
    private Optional<Boolean> checkCalls = Optional.empty();
    private final List<Listener> listeners = new ArrayList<>();
    private Optional<Device> device = Optional.empty();
    private Duration timeout = DEFAULT_TIMEOUT;
    private final Map<String, BackendOptions> options = new HashMap<>();

    DefaultProcessGroupBuilder() {}

    @Override
    public ProcessGroupBuilder backend(String names) {
        backend = Optional.of(Given.notNull(names, "backend").toLowerCase(Locale.ROOT));
        return this;
    }

    @Override
    public ProcessGroupBuilder initMethod(String url) {
        initMethod = Optional.of(Given.notNull(url, "init method"));
        return this;
    }

    @Override
    public ProcessGroupBuilder store(Store shared) {
        store = Optional.of(Given.notNull(shared, "store"));
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
        interop = Given.notNull(value, "interop");
        return this;
    }

    @Override
    public ProcessGroupBuilder timeout(Duration value) {
        Given.notNull(value, "timeout");
        if (value.isNegative() || value.isZero() || value.compareTo(Duration.ofDays(1)) > 0) {
            throw new UsageException(
                    FailureContext.NONE,
                    "timeout must be positive and at most a day, got " + Durations.text(value));
        }
        timeout = value;
        return this;
    }

    @Override
    public ProcessGroupBuilder device(Device value) {
        device = Optional.of(Given.notNull(value, "device"));
        return this;
    }

    @Override
    public ProcessGroupBuilder options(BackendOptions value) {
        String of = Given.notNull(value, "options").backend();
        options.put(Given.notNull(of, "the options' backend"), value);
        return this;
    }

    @Override
    public ProcessGroupBuilder onFailure(OnFailure value) {
        onFailure = Given.notNull(value, "onFailure");
        return this;
    }

    @Override
    public ProcessGroupBuilder checkCalls(boolean value) {
        checkCalls = Optional.of(value);
        return this;
    }

    @Override
    public ProcessGroupBuilder listener(GroupListener value) {
        Listener listener = Listener.of(Given.notNull(value, "listener"));
        if (listeners.size() == MOST_LISTENERS) {
            throw new UsageException(
                    FailureContext.NONE,
                    "a world has at most " + MOST_LISTENERS + " listeners; have one call others");
        }
        listeners.add(listener);
        return this;
    }

    @Override
    public ProcessGroup build() {
        long start = System.nanoTime();
        if (store.isEmpty() && initMethod.orElse(ENVIRONMENT).equals(ENVIRONMENT)) {
            ErrorFile.in(System.getenv())
                    .ifPresent(file -> file.recordUncaught(Thread.currentThread()));
        }
        Descriptors.require(DESCRIPTORS, "joining a world");
        List<Backend> backends = new ArrayList<>(Backends.choose(backend, device, options));
        backends.forEach(this::requireInterop);
        checksCalls();
        Optional<Known> known = known(backends);
        if (known.isPresent() && known.get().world().broadcast().isEmpty()) {
            World world = known.get().world();
            return new DefaultProcessGroup(
                    world(world.rank(), world.size(), placed(backends, world.localRank()))
                            .connect());
        }
        Meeting meeting = known.map(this::meet).orElseGet(() -> meet(start));
        Membership place = meeting.rendezvous().membership();
        return new DefaultProcessGroup(
                world(place.rank(), place.worldSize(), placed(backends, place.localRank()))
                        .store(meeting.part(), servedByRank0(meeting.rendezvous()))
                        .keys(TorchKeys.world(interop, Optional.of(meeting.part())))
                        .joinTimeout(left(start))
                        .onClose(meeting.rendezvous()::close)
                        .connect());
    }

    private WorldBuilder world(int rank, int size, List<Backend> placed) {
        return new WorldBuilder(rank, size, timeout, placed)
                .onFailure(onFailure)
                .checkCalls(checksCalls())
                .listeners(listeners);
    }

    private boolean checksCalls() {
        boolean checks = checkCalls.orElseGet(() -> isSet(System.getenv(CHECK_CALLS)));
        if (checks && interop != Interop.NONE) {
            throw new UsageException(
                    FailureContext.NONE,
                    "calls can not be checked in a world with ranks of %s, which do not take part; leave out checkCalls(true) and %s"
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

    private void requireInterop(Backend backend) {
        if (!backend.provider().supports(interop)) {
            throw new UsageException(
                    FailureContext.NONE,
                    "backend %s can not share a group with ranks of %s"
                            .formatted(backend.provider().name(), interop));
        }
        if (interop != Interop.NONE && backend.isStaged()) {
            throw new UsageException(
                    FailureContext.NONE,
                    "backend %s takes tensors on %s through host memory, in pieces that ranks of %s do not know; leave that device type out"
                            .formatted(
                                    backend.provider().name(), backend.device().type(), interop));
        }
    }

    /** The other ranks, and the part of the store that belongs to this world alone. */
    private record Meeting(Rendezvous rendezvous, Store part) {}

    /** A library that knows the world has it made anew, store and all, each time. */
    private Meeting meet(Known known) {
        World world = known.world();
        Rendezvous rendezvous =
                Rendezvous.in(known.backend(), world, world.broadcast().orElseThrow(), timeout);
        return new Meeting(rendezvous, rendezvous.store());
    }

    /**
     * Where rank 0 serves the store, a rank that builds its world again before rank 0 does meets
     * the old store, which ends soon.
     */
    private Meeting meet(long start) {
        while (true) {
            Rendezvous rendezvous = join(left(start));
            try {
                return new Meeting(rendezvous, partOf(rendezvous, start));
            } catch (StoreException e) {
                rendezvous.close();
                if (rendezvous.membership().rank() == 0 || !servedByRank0(rendezvous)) {
                    throw e;
                }
                if (System.nanoTime() - start > timeout.toNanos()) {
                    throw new StoreException(
                            "rank 0, which serves the store, is gone or does not answer: "
                                    + e.reason(),
                            e);
                }
                LockSupport.parkNanos(COME_AGAIN.toNanos());
            } catch (RuntimeException | Error e) {
                rendezvous.close();
                throw e;
            }
        }
    }

    /** What is left of the timeout, which is one for all of joining. */
    private Duration left(long start) {
        Duration left = timeout.minusNanos(System.nanoTime() - start);
        return left.compareTo(COME_AGAIN) > 0 ? left : COME_AGAIN;
    }

    private Rendezvous join(Duration limit) {
        return store.isPresent()
                ? Rendezvous.over(store.get(), rank, worldSize)
                : Rendezvous.join(
                        initMethod.orElse(ENVIRONMENT), rank, worldSize, limit, System.getenv());
    }

    private boolean servedByRank0(Rendezvous rendezvous) {
        return store.isEmpty()
                && rendezvous.store() instanceof TcpStore
                && !rendezvous.membership().storeIsHosted();
    }

    /**
     * Where the groups' keys are. A store may outlive a world: no world may find what another one
     * wrote. Ranks that were started again use a part named after the attempt, since tickets of
     * killed ranks may be left.
     */
    private Store partOf(Rendezvous rendezvous, long start) {
        Membership place = rendezvous.membership();
        if (interop != Interop.NONE) {
            return TorchWorld.partOf(
                    rendezvous.store(), place, store.isEmpty(), servedByRank0(rendezvous));
        }
        Store attempt =
                place.restarts() == 0
                        ? rendezvous.store()
                        : new PrefixStore("restart/" + place.restarts(), rendezvous.store());
        return new WorldAgreement(
                        attempt,
                        place.rank(),
                        place.worldSize(),
                        servedByRank0(rendezvous),
                        timeout,
                        left(start))
                .enter();
    }

    /** Without a device of the user's, the ranks of a host take its devices in turn. */
    private List<Backend> placed(List<Backend> backends, int localRank) {
        return backends.stream().map(each -> placed(each, localRank)).toList();
    }

    private Backend placed(Backend backend, int localRank) {
        if (device.isPresent() || backend.device().isCpu() || localRank < 0) {
            return backend;
        }
        Device own = new Device(backend.device().type(), localRank);
        return new Backend(backend.provider(), own, backend.options());
    }

    private record Known(String backend, World world) {}

    /** The world, where the user does not say anything about it and a library knows it. */
    private Optional<Known> known(List<Backend> backends) {
        if (initMethod.isPresent()
                || store.isPresent()
                || rank.isPresent()
                || worldSize.isPresent()) {
            return Optional.empty();
        }
        for (Backend each : backends) {
            Optional<World> world = each.provider().world(each.options());
            if (world.isPresent()) {
                return Optional.of(new Known(each.provider().name(), world.get()));
            }
        }
        return Optional.empty();
    }
}
