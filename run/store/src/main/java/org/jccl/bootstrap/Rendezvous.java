package org.jccl.bootstrap;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.stream.IntStream;
import org.jccl.BootstrapException;
import org.jccl.FailureContext;
import org.jccl.Store;
import org.jccl.StoreException;
import org.jccl.StoreTimeoutException;
import org.jccl.TlsCredentials;
import org.jccl.UsageException;
import org.jccl.internal.checks.Require;
import org.jccl.internal.rendezvous.HostedStore;
import org.jccl.internal.rendezvous.RankClaim;
import org.jccl.internal.rendezvous.RankVariables;
import org.jccl.internal.rendezvous.RunId;
import org.jccl.internal.rendezvous.StoreUrl;
import org.jccl.internal.rendezvous.WorldStore;
import org.jccl.spi.Arrivals;
import org.jccl.spi.BackendProvider.Broadcast;
import org.jccl.spi.BackendProvider.World;
import org.jccl.spi.Deadline;
import org.jccl.spi.Descriptors;
import org.jccl.spi.Durations;
import org.jccl.spi.LocalHost;
import org.jccl.spi.PathSetting;
import org.jccl.spi.WaitLog;
import org.jccl.store.FileStore;
import org.jccl.store.TcpStore;

/**
 * The membership of this process in a job, and a store that all ranks can reach. It corresponds to
 * PyTorch's {@code rendezvous}. There is no static state: several ranks of one process may each
 * join.
 *
 * <p>Thread-safe.
 */
public final class Rendezvous implements AutoCloseable {

    /** Each rank that has reached the store sets it, except ranks that do not run JCCL. */
    private static final String HERE = "jccl/here/";

    private static final String ENVIRONMENT = "env";

    /**
     * File descriptors of a process that serves a store, in addition to one connection for each
     * rank.
     */
    private static final int SERVER_DESCRIPTORS = 16;

    private final Membership membership;
    private final Store store;
    private final Runnable onClose;

    private Rendezvous(Membership membership, Store store, Runnable onClose) {
        this.membership = membership;
        this.store = store;
        this.onClose = onClose;
    }

    /**
     * Finds the other ranks by an init method.
     *
     * <ul>
     *   <li>{@code env://}: the variables of the launcher that started this process, see {@link
     *       ClusterEnvironment}. If {@code jccl-ranktable} is present, waits for a rank table that
     *       {@code RANK_TABLE_FILE} names while it is {@code initializing}. If the launchers use
     *       the store of a service, they name it in {@code JCCL_STORE}
     *   <li>{@code tcp://host:port?rank=R&world_size=W}: a store on that port
     *   <li>{@code file:///path?rank=R&world_size=W}: a file that every rank can access. It must
     *       not exist before the job
     *   <li>{@code etcd://host:port,host:port/prefix?rank=R&world_size=W}, if {@code jccl-etcd} is
     *       present: a prefix of etcd's keys. Each job needs its own prefix
     * </ul>
     *
     * Over TCP, rank 0 serves the store and waits until every rank is connected, unless the
     * launcher serves it ({@code TORCHELASTIC_USE_AGENT_STORE} is {@code True}). Rank 0 must close
     * its rendezvous last. The store uses TLS if the environment has certificates, see {@link
     * TlsCredentials#in}.
     *
     * @param initMethod one of the URLs above
     * @param rank the rank of this process, if the URL and the environment do not define it
     * @param worldSize the number of ranks, if the URL and the environment do not define it
     * @param timeout how long to wait for the store and the other ranks, and the timeout of the
     *     store
     * @param environment the variables of the process, usually {@link System#getenv()}
     * @return the rendezvous, which the caller closes
     * @throws BootstrapException if rank, world size or the address of the store are missing,
     *     malformed or contradictory, the host is unknown, the port cannot be used, the store
     *     belongs to another run ({@code TORCHELASTIC_RUN_ID}, or the launcher's id of the job), or
     *     another process has the same rank or expects another world size
     * @throws org.jccl.StoreException if the store cannot be reached, or a rank does not arrive, in
     *     time
     * @throws UsageException if an argument is null
     */
    public static Rendezvous join(
            String initMethod,
            OptionalInt rank,
            OptionalInt worldSize,
            Duration timeout,
            Map<String, String> environment) {
        return join(initMethod, rank, worldSize, timeout, environment, Optional.empty());
    }

    /**
     * Finds the other ranks by an init method, with TLS to a store over TCP.
     *
     * @param initMethod see {@link #join(String, OptionalInt, OptionalInt, Duration, Map)}, also
     *     for the other arguments and exceptions
     * @param rank the rank of this process, if the URL and the environment do not define it
     * @param worldSize the number of ranks, if the URL and the environment do not define it
     * @param timeout how long to wait for the store and the other ranks, and the timeout of the
     *     store
     * @param environment the variables of the process, usually {@link System#getenv()}
     * @param tls the certificates of this process; empty for those of the environment, see {@link
     *     TlsCredentials#in}
     * @return the rendezvous, which the caller closes
     */
    public static Rendezvous join(
            String initMethod,
            OptionalInt rank,
            OptionalInt worldSize,
            Duration timeout,
            Map<String, String> environment,
            Optional<TlsCredentials> tls) {
        if (initMethod == null || timeout == null || environment == null) {
            throw new UsageException(
                    FailureContext.NONE,
                    "init method, timeout and environment must not be null, but are %s, %s%s"
                            .formatted(
                                    initMethod,
                                    Durations.text(timeout),
                                    environment == null ? " and null" : " and a map"));
        }
        Require.nonNull(rank, "the rank (empty if unknown)");
        Require.nonNull(worldSize, "the world size (empty if unknown)");
        Require.nonNull(tls, "the TLS credentials (empty for those of the environment)");
        InitMethod method = InitMethod.parse(initMethod);
        OptionalInt theRank = same("rank", rank, method.rank(), method.text());
        OptionalInt theSize = same("world size", worldSize, method.worldSize(), method.text());
        Membership member =
                method.scheme().equals(ENVIRONMENT)
                        ? fromEnvironment(theRank, theSize, timeout, environment)
                        : fromArguments(method, theRank, theSize, environment);
        switch (method.scheme()) {
            case ENVIRONMENT -> {
                Optional<StoreUrl> service = service(member, environment);
                if (service.isPresent()) {
                    return overService(member, service.get(), timeout);
                }
            }
            case "file" -> {
                return overFile(member, method, timeout);
            }
            case "tcp" -> {}
            default -> {
                return overService(member, StoreUrl.parse(method.text().strip()), timeout);
            }
        }
        Optional<TlsCredentials> credentials = tls.or(() -> TlsCredentials.in(environment));
        return overTcp(member, runId(method, environment), credentials, timeout);
    }

    /**
     * Returns the store of the launchers, if it is a service. The variable may also belong to
     * another job that started this process; its first server is then not the master.
     */
    private static Optional<StoreUrl> service(Membership member, Map<String, String> environment) {
        String text = environment.getOrDefault(RankVariables.STORE, "");
        if (text.isEmpty() || !member.storeIsHosted()) {
            return Optional.empty();
        }
        StoreUrl url = StoreUrl.parse(text);
        boolean own =
                member.masterAddress().equals(Optional.of(url.host()))
                        && member.masterPort().equals(Optional.of(url.port()));
        return own ? Optional.of(url) : Optional.empty();
    }

    private static Rendezvous overService(Membership member, StoreUrl url, Duration timeout) {
        Store store =
                WaitLog.during(
                        "rank " + member.rank(),
                        () -> Optional.of("the store at " + url.host() + " does not answer yet"),
                        () -> url.connect(timeout));
        return new Rendezvous(member, store, store::close);
    }

    /**
     * Uses a store of the caller.
     *
     * @param store a store that all ranks can reach; the caller closes it
     * @param rank the rank of this process
     * @param worldSize the number of ranks
     * @return the rendezvous
     * @throws BootstrapException if the rank or world size are missing
     * @throws UsageException if an argument is null or the rank does not exist
     */
    public static Rendezvous over(Store store, OptionalInt rank, OptionalInt worldSize) {
        Require.nonNull(store, "the store");
        Require.nonNull(rank, "the rank (empty if unknown)");
        Require.nonNull(worldSize, "the world size (empty if unknown)");
        String source = "a store given by the program";
        Membership member =
                membership(source, rank, worldSize, Optional.empty(), Optional.empty(), false);
        return new Rendezvous(member, store, () -> {});
    }

    /**
     * Joins a world that a library defines. Rank 0 serves a store with a secret on a free port of
     * all interfaces. The library sends the addresses and the secret to the other ranks, which use
     * the first address that they can reach.
     *
     * @param source the source of the world, for instance the name of the backend
     * @param world the world of the library
     * @param broadcast the broadcast of the library
     * @param timeout how long to wait for the store and the other ranks, and the timeout of the
     *     store
     * @return the rendezvous, which the caller closes
     * @throws org.jccl.StoreException if the store cannot be reached, or a rank does not arrive, in
     *     time
     */
    public static Rendezvous in(String source, World world, Broadcast broadcast, Duration timeout) {
        boolean serve = world.rank() == 0;
        Deadline limit = Deadline.after(timeout);
        HostedStore served = null;
        try {
            byte[] announced = new byte[WorldStore.BYTES];
            if (serve) {
                byte[] secret = WorldStore.newSecret();
                served = HostedStore.serveWithSecret(secret, timeout);
                WorldStore.ofThisHost(served.port(), secret).encode(announced);
            }
            broadcast.broadcast(announced, timeout);
            if (!serve) {
                served = HostedStore.connectToAny(WorldStore.decode(announced), timeout);
            }
            Membership member =
                    new Membership(
                            source,
                            world.rank(),
                            world.size(),
                            world.localRank(),
                            MembershipReader.UNKNOWN,
                            Optional.of(served.client().host()),
                            Optional.of(served.port()),
                            false,
                            0);
            passBarrier(served.client(), member, serve, limit.atMost(timeout));
            return new Rendezvous(member, served.client(), served::close);
        } catch (RuntimeException | Error e) {
            if (served != null) {
                served.close();
            }
            throw e;
        }
    }

    private static OptionalInt same(
            String what, OptionalInt argument, OptionalInt inUrl, String url) {
        if (argument.isPresent() && inUrl.isPresent() && !argument.equals(inUrl)) {
            throw contradiction(what, argument, "init method '" + url + "'", inUrl.getAsInt());
        }
        return argument.isPresent() ? argument : inUrl;
    }

    private static BootstrapException contradiction(
            String what, OptionalInt argument, String origin, int other) {
        return new BootstrapException(
                FailureContext.NONE,
                "%s %s contradicts %s, which gives %s: set it once, or to the same value"
                        .formatted(what, argument.getAsInt(), origin, other));
    }

    private static Membership fromEnvironment(
            OptionalInt rank,
            OptionalInt worldSize,
            Duration timeout,
            Map<String, String> environment) {
        Deadline limit = Deadline.after(timeout);
        for (ClusterEnvironment launcher : ClusterEnvironment.known()) {
            launcher.awaitReady(environment, limit.atMost(timeout));
        }
        Map<String, String> variables = new HashMap<>(environment);
        rank.ifPresent(value -> variables.putIfAbsent(RankVariables.RANK, Integer.toString(value)));
        worldSize.ifPresent(
                value -> variables.putIfAbsent(RankVariables.WORLD_SIZE, Integer.toString(value)));
        Membership member = ClusterEnvironment.readFirst(variables);
        same("rank", rank, OptionalInt.of(member.rank()), member.source());
        same("world size", worldSize, OptionalInt.of(member.worldSize()), member.source());
        if (member.masterAddress().isEmpty() || member.masterPort().isEmpty()) {
            throw new BootstrapException(
                    FailureContext.NONE,
                    "%s does not say where the store is: MASTER_ADDR is %s, MASTER_PORT is %s. Set MASTER_ADDR to the host of rank 0 and MASTER_PORT to a free port there, the same for every rank"
                            .formatted(
                                    member.source(),
                                    member.masterAddress().orElse("not set"),
                                    member.masterPort().map(String::valueOf).orElse("not set")));
        }
        return member;
    }

    private static Membership fromArguments(
            InitMethod method,
            OptionalInt rank,
            OptionalInt worldSize,
            Map<String, String> environment) {
        // A launcher serves one store, at its own address, which need not be that of the URL.
        boolean launchers =
                "True".equals(environment.get(RankVariables.USE_AGENT_STORE))
                        && method.host().equals(environment.get(RankVariables.MASTER_ADDR))
                        && Integer.toString(method.port())
                                .equals(environment.get(RankVariables.MASTER_PORT));
        return membership(
                "init method '" + method.text() + "'",
                rank,
                worldSize,
                Optional.of(method.host()),
                Optional.of(method.port()),
                launchers);
    }

    private static Membership membership(
            String source,
            OptionalInt rank,
            OptionalInt worldSize,
            Optional<String> host,
            Optional<Integer> port,
            boolean storeIsHosted) {
        if (rank.isEmpty() || worldSize.isEmpty()) {
            throw new BootstrapException(
                    FailureContext.NONE,
                    "%s: %s is missing%s. Give both as arguments, or in the URL as ?rank=R&world_size=W"
                            .formatted(
                                    source,
                                    rank.isEmpty() ? "the rank" : "the world size",
                                    rank.isEmpty() && worldSize.isEmpty()
                                            ? ", and the world size as well"
                                            : ""));
        }
        return new Membership(
                source,
                rank.getAsInt(),
                worldSize.getAsInt(),
                MembershipReader.UNKNOWN,
                MembershipReader.UNKNOWN,
                host,
                port,
                storeIsHosted,
                0);
    }

    private static Rendezvous overFile(Membership member, InitMethod method, Duration timeout) {
        Path file = PathSetting.of("file of the init method " + method.text(), method.path());
        Store store = FileStore.open(file, member.worldSize(), timeout);
        return new Rendezvous(member, store, store::close);
    }

    /**
     * Returns the run of a launcher. The address in a URL already defines which ranks belong
     * together, and these may have several launchers.
     */
    private static RunId runId(InitMethod method, Map<String, String> environment) {
        if (!method.scheme().equals(ENVIRONMENT)) {
            return RunId.UNKNOWN;
        }
        Optional<String> jobId =
                ClusterEnvironment.known().stream()
                        .filter(launcher -> launcher.detect(environment))
                        .findFirst()
                        .flatMap(launcher -> launcher.jobId(environment));
        return RunId.in(environment, jobId);
    }

    private static Rendezvous overTcp(
            Membership member, RunId run, Optional<TlsCredentials> tls, Duration timeout) {
        String host = member.masterAddress().orElseThrow();
        int port = member.masterPort().orElseThrow();
        boolean serve = member.rank() == 0 && !member.storeIsHosted();
        if (port == 0 && !(serve && member.worldSize() == 1)) {
            throw new BootstrapException(
                    FailureContext.NONE,
                    member.source()
                            + ": port 0 cannot be used, because the"
                            + " other ranks would not know the port");
        }
        Deadline limit = Deadline.after(timeout);
        RankClaim claim = RankClaim.of(member.rank(), member.worldSize());
        HostedStore hosted = null;
        try {
            requireDescriptors(serve, member.worldSize());
            if (serve) {
                Map<String, byte[]> contents = new HashMap<>(run.contents());
                contents.putAll(claim.contents());
                hosted = HostedStore.serve(host, port, contents, tls, timeout);
            } else {
                hosted = connect(member, host, port, run, tls, timeout);
                // A launcher's store remains for the next processes of the same ranks.
                if (!member.storeIsHosted()) {
                    claim.register(hosted.client());
                }
            }
            passBarrier(hosted.client(), member, serve, limit.atMost(timeout));
        } catch (RuntimeException | Error e) {
            if (hosted != null) {
                hosted.close();
            }
            boolean rankZeros = !serve && !member.storeIsHosted();
            if (rankZeros && e instanceof StoreException lost) {
                throw ofRankZero(lost);
            }
            throw e;
        }
        return new Rendezvous(member, hosted.client(), hosted::close);
    }

    private static HostedStore connect(
            Membership member,
            String host,
            int port,
            RunId run,
            Optional<TlsCredentials> tls,
            Duration timeout) {
        String waitsFor =
                "the store at %s:%s, which %s serves, cannot be reached yet"
                        .formatted(host, port, member.storeIsHosted() ? "the launcher" : "rank 0");
        return WaitLog.during(
                "rank " + member.rank(),
                () -> Optional.of(waitsFor),
                () -> run.connect(host, port, !member.storeIsHosted(), tls, timeout));
    }

    /**
     * Checks the number of descriptors. With too few, the server would accept only the first ranks,
     * and the others would wait until the timeout.
     */
    private static void requireDescriptors(boolean serve, int worldSize) {
        if (serve) {
            Descriptors.require(
                    worldSize + SERVER_DESCRIPTORS,
                    "the store that rank 0 serves to " + worldSize + " ranks");
        }
    }

    /**
     * Returns the failure with the addition that the process of rank 0 is missing or does not
     * answer.
     */
    private static StoreException ofRankZero(StoreException failure) {
        String reason = "rank 0 serves the store: " + failure.reason();
        return failure instanceof StoreTimeoutException
                ? new StoreTimeoutException(reason, failure)
                : new StoreException(reason, failure);
    }

    /**
     * Registers this rank and, if it serves the store, waits for the others.
     *
     * @throws StoreTimeoutException if a rank does not arrive in time; the message names the
     *     missing ranks
     */
    private static void passBarrier(
            TcpStore store, Membership member, boolean serves, Duration timeout) {
        store.set(hereKey(member.rank()), LocalHost.name().getBytes(StandardCharsets.UTF_8));
        store.joinWorkers();
        if (serves) {
            try {
                WaitLog.during(
                        "rank 0",
                        0,
                        member.worldSize(),
                        ranks -> Arrivals.present(store, ranks, Rendezvous::hereKey),
                        () -> {
                            RankClaim.of(0, member.worldSize()).awaitAll(store, timeout);
                            return member;
                        });
            } catch (StoreTimeoutException e) {
                throw new StoreTimeoutException(
                        e.reason() + ". Missing: " + missing(store, member), e);
            }
        }
    }

    /** Ranks of another API are counted, but do not register. */
    private static String missing(TcpStore store, Membership member) {
        List<Integer> all = IntStream.range(0, member.worldSize()).boxed().toList();
        List<Integer> silent = Arrivals.missing(store, all, Rendezvous::hereKey);
        return "ranks "
                + Arrivals.ranks(silent)
                + " (ranks that do not run JCCL always appear as"
                + " missing)";
    }

    private static String hereKey(int rank) {
        return HERE + rank;
    }

    /**
     * Returns the membership of this process in the job.
     *
     * @return rank, world size and the other values
     */
    public Membership membership() {
        return membership;
    }

    /**
     * Returns the store of all ranks. If the launcher keeps one store for all attempts, as torchrun
     * does without {@code --standalone} and {@code --rdzv-backend}, restarted ranks find the keys
     * of earlier ones; {@link Membership#restarts} distinguishes them.
     *
     * @return the store; closed with this object unless the caller provided it
     */
    public Store store() {
        return store;
    }

    /**
     * Closes the store, and its server if this rank serves it, after waiting up to three seconds
     * for the other ranks to close theirs. Idempotent.
     */
    @Override
    public void close() {
        onClose.run();
    }
}
