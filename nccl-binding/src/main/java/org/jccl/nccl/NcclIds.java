package org.jccl.nccl;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.jccl.BootstrapException;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.OperationTimeoutException;
import org.jccl.PeerLostException;
import org.jccl.Store;
import org.jccl.StoreTimeoutException;
import org.jccl.UsageException;
import org.jccl.spi.CleanUp;
import org.jccl.spi.CommunicatorConfig;
import org.jccl.spi.Durations;
import org.jccl.spi.Polling;

/**
 * The unique ids with which the ranks of a communicator find each other, shared through the store.
 * There is one, of rank 0, unless PyTorch's ranks share several in large groups.
 */
final class NcclIds {

    static final int ID_BYTES = 128;

    /** The interval of checks of the key of PyTorch's other backend. */
    private static final Duration LOOK_FOR_ID = Duration.ofMillis(200);

    /**
     * The value for the key under which rank 0 would write its id if its peers used PyTorch's other
     * backend.
     */
    private static final byte[] NO_ID =
            "rank 0 takes its peers for ranks of PyTorch's other NCCL backend"
                    .getBytes(StandardCharsets.US_ASCII);

    /** Beside rank 0's id: why a rank of the program cannot use it. */
    private static final String REJECTED = "/rejected";

    /** Beside rank 0's id: which rank failed, and why. The others cannot learn it from NCCL. */
    private static final String FAILED = "/failed";

    private static final String MANY = "ncclCommInitRankScalable";

    private final CommunicatorConfig config;

    /** This rank in the group, also if the communicator is that of a pair. */
    private final int rank;

    /** One for each id. */
    private final List<String> keys;

    /** The keys of ranks that cannot form a communicator with this one; empty without PyTorch. */
    private final List<String> misunderstood;

    private NcclIds(
            CommunicatorConfig config, int rank, List<String> keys, List<String> misunderstood) {
        this.config = config;
        this.rank = rank;
        this.keys = keys;
        this.misunderstood = misunderstood;
    }

    /**
     * The ids of a group.
     *
     * @throws UsageException if NCCL cannot use as many as PyTorch's ranks do
     */
    static NcclIds ofGroup(CommunicatorConfig config) {
        NcclIds ids =
                new NcclIds(
                        config,
                        config.rank(),
                        NcclKeys.communicator(config),
                        NcclKeys.misunderstood(config));
        if (ids.keys.size() > 1 && !NcclNative.has(MANY)) {
            throw new UsageException(
                    FailureContext.NONE,
                    "PyTorch's ranks form a group of %d ranks with %s, which this NCCL lacks: use NCCL 2.23 or later, or set %s=%2$d for every rank"
                            .formatted(config.size(), MANY, NcclKeys.RANKS_PER_ROOT));
        }
        return ids;
    }

    /** The id of two ranks that exchange messages. */
    static NcclIds ofPair(CommunicatorConfig pair, int rank, String key) {
        return new NcclIds(pair, rank, List.of(key), List.of());
    }

    List<String> keys() {
        return keys;
    }

    /** The name of the communicator in the store. */
    String name() {
        return keys.get(0);
    }

    /** The function of NCCL that takes the ids. */
    String call() {
        return keys.size() > 1 ? MANY : "ncclCommInitRankConfig";
    }

    /**
     * Returns which of the ids a rank makes. The ranks are divided into blocks, of which the first
     * ones are larger by one if they cannot be equal; the first rank of a block makes its id.
     *
     * @return the index, or -1 for none
     */
    static int rootIndex(int rank, int size, int ids) {
        int larger = size % ids;
        int block = size / ids;
        int inLarger = larger * (block + 1);
        if (rank < inLarger) {
            return rank % (block + 1) == 0 ? rank / (block + 1) : -1;
        }
        return (rank - inLarger) % block == 0 ? larger + (rank - inLarger) / block : -1;
    }

    /** Returns the ids, one after the other. */
    byte[] share() {
        if (config.size() == 1) {
            return uniqueId();
        }
        Store store = config.requireStore("NCCL needs a store to connect ranks");
        int own = rootIndex(config.rank(), config.size(), keys.size());
        if (own < 0 && misunderstood.isEmpty()) {
            return config.fetch(name(), ID_BYTES, "NCCL id", config.joinTimeout());
        }
        byte[] id = own < 0 ? new byte[0] : uniqueId();
        if (own == 0) {
            // A rank that reads them fails at once, because of the length.
            misunderstood.forEach(other -> store.set(other, NO_ID));
        }
        if (own >= 0) {
            store.set(keys.get(own), id);
        }
        if (own == 0 && keys.size() == 1) {
            return id;
        }
        return await(store);
    }

    /** Waits for the ids of all roots. Rank 0 must use the same keys as this rank. */
    private byte[] await(Store store) {
        long deadline = System.nanoTime() + config.joinTimeout().toNanos();
        ByteBuffer all = ByteBuffer.allocate(keys.size() * ID_BYTES);
        for (String key : keys) {
            awaitId(store, key, deadline);
            all.put(store.get(key));
        }
        return all.array();
    }

    private void awaitId(Store store, String key, long deadline) {
        while (!hasId(store, key)) {
            if (hasId(store, misunderstood.get(0))) {
                throw otherBackend(store);
            }
            if (System.nanoTime() - deadline >= 0) {
                throw OperationTimeoutException.ofCall(
                        FailureContext.NONE,
                        "no rank wrote an NCCL id to the store within %s, neither as %s under the key %s nor as %s under %s%s"
                                .formatted(
                                        Durations.rounded(config.joinTimeout()),
                                        spoken(NcclKeys.isNewer(config.interop())),
                                        key,
                                        spoken(!NcclKeys.isNewer(config.interop())),
                                        misunderstood.get(0),
                                        keys.size() == 1
                                                ? ""
                                                : "; all ranks must have the same "
                                                        + NcclKeys.RANKS_PER_ROOT),
                        null);
            }
            awaitKey(store, key);
        }
    }

    /** Waits a moment for a key, or for another value of it. */
    private static void awaitKey(Store store, String key) {
        if (store.check(List.of(key))) {
            Polling.sleep(LOOK_FOR_ID);
            return;
        }
        try {
            store.await(List.of(key), LOOK_FOR_ID);
        } catch (StoreTimeoutException e) {
            // The caller checks the other key and the deadline.
            return;
        }
    }

    private static String spoken(boolean newer) {
        return newer
                ? "PyTorch's NCCL backend from 2.15 on (nccl2)"
                : "PyTorch's NCCL backend until 2.14 (nccl-legacy)";
    }

    private static boolean hasId(Store store, String key) {
        return store.check(List.of(key)) && store.get(key).length == ID_BYTES;
    }

    /** Also notifies the ranks that wait for this one in NCCL. */
    private BootstrapException otherBackend(Store store) {
        boolean newer = NcclKeys.isNewer(config.interop());
        String why =
                "rank 0 uses the protocol of %s and wrote its id under the key %s; rank %d uses that of %s and reads the key %s. Give all Java ranks Interop.torch(version) with the version of PyTorch in use. If TORCH_DIST_USE_NCCL2 is set to 1 in PyTorch 2.14, use TORCH_2_14_OPT_IN; if it is set to 0 from 2.15 on, use TORCH"
                        .formatted(
                                spoken(!newer),
                                misunderstood.get(0),
                                config.rank(),
                                spoken(newer),
                                name());
        store.set(misunderstood.get(0) + REJECTED, why.getBytes(StandardCharsets.UTF_8));
        return new BootstrapException(FailureContext.NONE, why);
    }

    /** Reports to the ranks that wait for this one in NCCL why it does not arrive. */
    void report(Throwable failure) {
        boolean othersKnow = failure instanceof OperationTimeoutException;
        if (config.size() == 1 || config.store().isEmpty() || othersKnow) {
            return;
        }
        String why = failure instanceof JcclException known ? known.reason() : failure.toString();
        byte[] value = (rank + " " + why).getBytes(StandardCharsets.UTF_8);
        CleanUp.run(
                "the report of a failure to form group '" + config.groupName() + "'",
                () -> config.store().get().set(name() + FAILED, value));
    }

    /**
     * Returns why the communicator cannot be formed, if a rank has reported it.
     *
     * @throws JcclException if the store is lost or closed
     */
    Optional<JcclException> obstacle() {
        if (config.size() == 1) {
            return Optional.empty();
        }
        Store store = config.requireStore("NCCL needs a store to connect ranks");
        return value(store, name() + REJECTED)
                .<JcclException>map(why -> new BootstrapException(FailureContext.NONE, why))
                .or(() -> value(store, name() + FAILED).map(NcclIds::failureOfPeer));
    }

    private static JcclException failureOfPeer(String value) {
        String[] rankAndReason = value.split(" ", 2);
        return new PeerLostException(
                FailureContext.NONE,
                "rank %s could not form the communicator: %s"
                        .formatted(rankAndReason[0], rankAndReason[1]),
                Integer.parseInt(rankAndReason[0]));
    }

    private static Optional<String> value(Store store, String key) {
        return store.check(List.of(key))
                ? Optional.of(new String(store.get(key), StandardCharsets.UTF_8))
                : Optional.empty();
    }

    private static byte[] uniqueId() {
        byte[] id = new byte[ID_BYTES];
        NcclErrors.check(NcclNative.getUniqueId(id), "ncclGetUniqueId");
        return id;
    }
}
