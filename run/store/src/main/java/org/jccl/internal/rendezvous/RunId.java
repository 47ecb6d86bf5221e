package org.jccl.internal.rendezvous;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import org.jccl.BootstrapException;
import org.jccl.FailureContext;
import org.jccl.Store;
import org.jccl.StoreException;
import org.jccl.TlsCredentials;
import org.jccl.spi.Deadline;
import org.jccl.spi.Polling;

/**
 * The id of the run of a launcher: {@code TORCHELASTIC_RUN_ID}, or else the launcher's own id of
 * the job. It distinguishes the ranks of two jobs that were given the same address. The store
 * contains it under a key: from the beginning if JCCL serves the store, otherwise from the first
 * rank that knows its run. PyTorch's ranks neither write nor read it.
 *
 * @param text empty if the run is neither written nor checked
 */
public record RunId(String text) {

    public static final RunId UNKNOWN = new RunId("");

    /** The id of ranks of which no launcher says a job: they differ from ranks that have an id. */
    private static final String NO_ID = "(no id)";

    /** Kept from one attempt to the next, like all keys of the launchers. */
    private static final String KEY = "jccl/run-id";

    /**
     * The time that the store of an earlier run may still exist: its rank 0 closes it within 3 s.
     */
    private static final Duration EARLIER_RUN = Duration.ofSeconds(5);

    private static final Duration PAUSE = Duration.ofMillis(50);

    private static final int MAX_SHOWN = 100;

    public static RunId of(String text) {
        return new RunId(text.strip());
    }

    /**
     * Returns the run of the process with these variables.
     *
     * @param jobId the launcher's id of the job, which is used if the user gave none
     */
    public static RunId in(Map<String, String> environment, Optional<String> jobId) {
        RunId given = of(environment.getOrDefault(RankVariables.TORCHELASTIC_RUN_ID, ""));
        return given.text.isEmpty() ? of(jobId.orElse(NO_ID)) : given;
    }

    /** Returns the initial contents of a store of this run. */
    public Map<String, byte[]> contents() {
        return text.isEmpty() ? Map.of() : Map.of(KEY, bytes());
    }

    /**
     * Connects to the store of this run.
     *
     * @param mayFollow whether a rank of an earlier run may still serve the address for a moment
     * @param tls the certificates of this process; empty for a plain store
     * @param timeout for the connection and the blocking calls of the client
     * @throws BootstrapException if the store belongs to another run; the message names both
     */
    public HostedStore connect(
            String host,
            int port,
            boolean mayFollow,
            Optional<TlsCredentials> tls,
            Duration timeout) {
        Deadline limit = Deadline.after(timeout);
        Deadline before = Deadline.after(limit.atMost(mayFollow ? EARLIER_RUN : Duration.ZERO));
        for (Duration left = timeout; true; left = limit.atMost(timeout)) {
            HostedStore store = HostedStore.connect(host, port, tls, left);
            try {
                String owner = owner(store.client());
                if (owner.equals(text)) {
                    return store;
                }
                store.close();
                if (before.hasPassed()) {
                    throw otherRun(host, port, owner);
                }
            } catch (StoreException e) {
                store.close();
                if (before.hasPassed()) {
                    throw e;
                }
            } catch (RuntimeException | Error e) {
                store.close();
                throw e;
            }
            Polling.sleep(PAUSE);
        }
    }

    private String owner(Store store) {
        return text.isEmpty()
                ? text
                : new String(store.compareSet(KEY, new byte[0], bytes()), StandardCharsets.UTF_8);
    }

    private BootstrapException otherRun(String host, int port, String owner) {
        return new BootstrapException(
                FailureContext.NONE,
                "this rank belongs to run '%s', but the store at %s:%s belongs to run '%s'. Give each job its own MASTER_PORT. Ranks of one job that have different launchers need the same TORCHELASTIC_RUN_ID"
                        .formatted(shown(text), host, port, shown(owner)));
    }

    private static String shown(String id) {
        return id.length() > MAX_SHOWN ? id.substring(0, MAX_SHOWN) + "..." : id;
    }

    private byte[] bytes() {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
