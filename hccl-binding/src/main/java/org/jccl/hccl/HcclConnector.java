package org.jccl.hccl;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.stream.IntStream;
import org.jccl.FailureContext;
import org.jccl.OperationTimeoutException;
import org.jccl.Store;
import org.jccl.UsageException;
import org.jccl.hccl.HcclOptions.Determinism;
import org.jccl.hccl.HcclOptions.Expansion;
import org.jccl.spi.BoundedCall;
import org.jccl.spi.CommunicatorConfig;
import org.jccl.spi.Durations;

/**
 * Forms a communicator: a part of the world's communicator, or a world by a rank table, or by a
 * root info that the ranks share through the store.
 */
final class HcclConnector {

    static final int ROOT_INFO_BYTES = 4108;

    private static final System.Logger LOGGER = System.getLogger(HcclConnector.class.getName());

    /** HCCL reads it for groups without the option, and on Ascend 950 checks it for all. */
    private static final String EXPANSION_VARIABLE = "HCCL_OP_EXPANSION_MODE";

    /** The key of torch_npu for the root info of a group's first communicator. */
    private static final String ROOT_INFO_KEY = "0";

    /** The key under which ranks of torch_npu wait for the version of rank 0. They only log it. */
    private static final String VERSION_KEY = "version_key";

    private static final String VERSION = "jccl";

    /** The first release that reads its environment if no {@link Determinism} is given. */
    private static final int DETERMINISM_MAJOR = 8;

    private static final int DETERMINISM_MINOR = 2;

    private final CommunicatorConfig config;
    private final HcclLibraries libraries;
    private final HcclOptions options;
    private final Forming.Member member;

    /** The handle that HCCL returns. */
    private final Memory communicator = new Memory(Long.BYTES);

    private boolean abandoned;
    private boolean connected;

    private HcclConnector(
            CommunicatorConfig config, HcclLibraries libraries, Forming.Member member) {
        this.config = config;
        this.libraries = libraries;
        this.member = member;
        this.options = config.options(HcclOptions.class).orElseGet(HcclOptions::defaults);
        communicator.clear();
    }

    static HcclCommunicator connect(CommunicatorConfig config, HcclLibraries libraries) {
        Forming.Member member = libraries.forming().begin(config);
        return config.join(
                "hccl",
                List.of(ROOT_INFO_KEY, VERSION_KEY),
                () -> new HcclConnector(config, libraries, member).connect());
    }

    private HcclCommunicator connect() {
        if (config.parent().isPresent()
                && config.parent().get() instanceof HcclCommunicator parent
                && ascend(worldRanks(parent))) {
            return connectPart(parent);
        }
        if (config.size() > 1) {
            libraries.warnOfMissingFiles();
        }
        int[] own = IntStream.range(0, config.size()).toArray();
        Optional<Path> table =
                config.parent().isEmpty()
                        ? RankTableFile.of(options, System.getenv())
                        : Optional.empty();
        Optional<Path> checked = table.flatMap(this::check);
        if (checked.isPresent()) {
            connectByTable(checked.get());
        } else {
            connectByRootInfo();
        }
        return handOver(null, own);
    }

    /** Makes the communicator, whose handle then retains ACL. */
    private HcclCommunicator handOver(HcclCommunicator world, int[] members) {
        HcclCommunicator formed =
                new HcclCommunicator(communicator.getLong(0), config, libraries, world, members);
        libraries.lifetime().release();
        return formed;
    }

    private int[] worldRanks(HcclCommunicator parent) {
        return config.parentRanks().stream().mapToInt(parent::worldRank).toArray();
    }

    /** HCCL's manual requires ascending members of a part; a new world may have any order. */
    private static boolean ascend(int[] members) {
        return IntStream.range(1, members.length).allMatch(i -> members[i - 1] < members[i]);
    }

    private HcclCommunicator connectPart(HcclCommunicator parent) {
        int size = config.size();
        int[] members = worldRanks(parent);
        Memory arguments = new Memory(Long.BYTES + (long) size * Integer.BYTES);
        // HCCL takes the address of a variable that holds the handle.
        arguments.setLong(0, parent.world().handle().address());
        arguments.write(Long.BYTES, members, 0, size);
        long base = Pointer.nativeValue(arguments);
        // All members know the name, and no other group of this world has the same.
        long id =
                UUID.nameUUIDFromBytes(config.groupName().getBytes(StandardCharsets.UTF_8))
                        .getMostSignificantBits();
        CommConfig settings = settings();
        initialise(
                "HcclCreateSubCommConfig",
                () -> {
                    int code =
                            Hccl.HcclCreateSubCommConfig(
                                    base,
                                    size,
                                    base + Long.BYTES,
                                    id,
                                    config.rank(),
                                    settings.address(),
                                    Pointer.nativeValue(communicator));
                    arguments.close();
                    return code;
                });
        return handOver(parent.world(), members);
    }

    /** On this chip HCCL has no host mode, and stores two options that nothing reads. */
    private void checkOptionsOf950() {
        String mode = System.getenv().getOrDefault(EXPANSION_VARIABLE, "");
        boolean given = options.expansion().equals(Optional.of(Expansion.HOST));
        if (given || mode.startsWith("HOST")) {
            throw new UsageException(
                    FailureContext.NONE,
                    (given ? "HCCL options: expansion HOST" : EXPANSION_VARIABLE + "=" + mode)
                            + ": Ascend 950 does not expand operations on the host; leave it out,"
                            + " or choose AI_CPU, CCU_MS or CCU_SCHED");
        }
        if (options.executionTimeout().isPresent() || options.algorithm().isPresent()) {
            LOGGER.log(
                    System.Logger.Level.WARNING,
                    "HCCL options: executionTimeout and algorithm have no effect on Ascend 950");
        }
    }

    private CommConfig settings() {
        if (options.determinism().equals(Optional.of(Determinism.STRICT))
                && !libraries.chip().isStrict()) {
            throw new UsageException(
                    FailureContext.NONE,
                    "HCCL options: determinism STRICT is for Atlas A2 only, this is "
                            + libraries.chip().label()
                            + "; use ON");
        }
        if (libraries.chip() == Chip.ASCEND_950) {
            checkOptionsOf950();
        }
        return new CommConfig(
                options,
                config.groupName(),
                config.parent().isPresent(),
                libraries.configCapability(),
                libraries.isAtLeast(DETERMINISM_MAJOR, DETERMINISM_MINOR),
                System.getenv());
    }

    private Optional<Path> check(Path given) {
        return RankTableFile.check(
                given,
                config.rank(),
                config.size(),
                config.device().index(),
                libraries,
                member.left());
    }

    private void connectByTable(Path file) {
        byte[] bytes = file.toString().getBytes(StandardCharsets.UTF_8);
        Memory path = new Memory(bytes.length + 1);
        path.clear();
        path.write(0, bytes, 0, bytes.length);
        long address = Pointer.nativeValue(path);
        long out = Pointer.nativeValue(communicator);
        CommConfig settings = settings();
        initialise(
                "HcclCommInitClusterInfoConfig",
                () -> {
                    int code =
                            Hccl.HcclCommInitClusterInfoConfig(
                                    address, config.rank(), settings.address(), out);
                    path.close();
                    return code;
                });
    }

    private void connectByRootInfo() {
        Memory info = new Memory(ROOT_INFO_BYTES);
        info.clear();
        CommConfig settings = settings();
        if (config.size() > 1) {
            config.requireStore("HCCL needs a store or a rank table to connect ranks");
        }
        if (config.rank() > 0) {
            byte[] fetched =
                    config.fetch(ROOT_INFO_KEY, ROOT_INFO_BYTES, "HCCL root info", member.left());
            info.write(0, fetched, 0, ROOT_INFO_BYTES);
        }
        long address = Pointer.nativeValue(info);
        long out = Pointer.nativeValue(communicator);
        initialise(
                "HcclCommInitRootInfoConfig",
                () -> {
                    if (config.rank() == 0) {
                        // It starts a server for this device, so one thread makes both calls.
                        HcclErrors.check(Hccl.HcclGetRootInfo(address), "HcclGetRootInfo");
                        config.store().ifPresent(store -> publish(store, info));
                    }
                    int code =
                            Hccl.HcclCommInitRootInfoConfig(
                                    config.size(), address, config.rank(), settings.address(), out);
                    info.close();
                    return code;
                });
    }

    private static void publish(Store store, Memory info) {
        store.set(ROOT_INFO_KEY, info.getByteArray(0, ROOT_INFO_BYTES));
        store.set(VERSION_KEY, VERSION.getBytes(StandardCharsets.US_ASCII));
    }

    /** A native call that makes the communicator and returns HCCL's result. */
    @FunctionalInterface
    private interface Initialisation {
        int call();
    }

    /** Runs the initialisation on a separate thread, because HCCL cannot stop it. */
    private void initialise(String name, Initialisation call) {
        member.enter();
        boolean done;
        try {
            done =
                    BoundedCall.run(
                            "jccl-hccl-connect-" + config.groupName() + "-" + config.rank(),
                            () -> initialiseHere(name, call),
                            member.left());
        } catch (OutOfMemoryError e) {
            // There may be no thread that leaves.
            member.leave();
            throw e;
        }
        if (!done) {
            abandon();
            throw OperationTimeoutException.ofCall(
                    FailureContext.NONE,
                    name
                            + " did not finish in "
                            + Durations.rounded(config.joinTimeout())
                            + ": not all "
                            + config.size()
                            + " ranks called it, or they cannot reach each other; look at"
                            + " HCCL_IF_IP, HCCL_SOCKET_IFNAME and HCCL_WHITELIST_DISABLE, and at"
                            + " CANN's log in ~/ascend/log",
                    null);
        }
    }

    private void initialiseHere(String name, Initialisation call) {
        libraries.lifetime().hold();
        boolean formed = false;
        try {
            libraries.runtime().setDevice(config.device().index());
            HcclErrors.check(call.call(), name);
            formed = true;
        } finally {
            if (!formed) {
                libraries.lifetime().release();
            }
            member.leave();
        }
        synchronized (this) {
            connected = true;
            if (abandoned) {
                destroy();
            }
        }
    }

    /** Destroys a communicator that was formed too late, on a thread that has the device. */
    private void destroy() {
        HcclErrors.check(Hccl.HcclCommDestroy(communicator.getLong(0)), "HcclCommDestroy");
        libraries.lifetime().release();
    }

    /** Marks the communicator as unwanted, so that the thread that forms it destroys it. */
    private synchronized void abandon() {
        abandoned = true;
        if (connected) {
            BoundedCall.start(
                    "jccl-hccl-abandon-" + config.groupName(),
                    () -> {
                        libraries.runtime().setDevice(config.device().index());
                        destroy();
                    });
        }
    }
}
