package org.jccl.internal.diagnosis;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.regex.Pattern;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.JcclException;
import org.jccl.MismatchException;
import org.jccl.OperationTimeoutException;
import org.jccl.PeerLeftException;
import org.jccl.PeerLostException;
import org.jccl.Store;

/** What ranks say in the store of why their group failed, as one rank reads and writes it. */
final class Reports {

    /** The key of the first failure of any rank. */
    static final String FIRST = "failure";

    private static final Pattern NUMBER = Pattern.compile("-?\\d{1,9}");

    private final int rank;

    Reports(int rank) {
        this.rank = rank;
    }

    /** The key of a rank's own failure. */
    static String key(int rank) {
        return FIRST + "/" + rank;
    }

    /** A failure of this rank as the value of a key. */
    byte[] text(JcclException failure) {
        int peer = -1;
        if (failure instanceof PeerLostException lost) {
            peer = lost.peer().orElse(-1);
        } else if (failure instanceof PeerLeftException left) {
            peer = left.peer();
        }
        String type = failure.getClass().getSimpleName();
        return (rank + "\n" + type + "\n" + peer + "\n" + failure.reason()).getBytes(UTF_8);
    }

    /** The first failure of another rank. */
    Optional<JcclException> first(Store store) {
        return at(store, FIRST);
    }

    /** What the last rank says that is reached from one by asking each whom it has lost. */
    Optional<JcclException> causeAt(Store store, OptionalInt first) {
        Optional<JcclException> cause = Optional.empty();
        Set<Integer> asked = new HashSet<>(Set.of(rank));
        OptionalInt next = first;
        while (next.isPresent() && asked.add(next.getAsInt())) {
            Optional<JcclException> said = at(store, key(next.getAsInt()));
            if (said.isEmpty()) {
                break;
            }
            cause = said;
            next = said.get() instanceof PeerLostException lost ? lost.peer() : OptionalInt.empty();
        }
        return cause;
    }

    /** The failure that another rank reports under a key, unless it is that it lost this rank. */
    private Optional<JcclException> at(Store store, String key) {
        if (!store.check(List.of(key))) {
            return Optional.empty();
        }
        String[] parts = new String(store.get(key), UTF_8).split("\n", 4);
        if (parts.length < 4
                || !NUMBER.matcher(parts[0]).matches()
                || !NUMBER.matcher(parts[2]).matches()) {
            return Optional.empty(); // not written by a rank of this version
        }
        int peer = Integer.parseInt(parts[2]);
        if (Integer.parseInt(parts[0]) == rank || peer == rank) {
            return Optional.empty();
        }
        String reporter = "rank " + parts[0] + " ";
        // Most reasons begin with the rank that they are about.
        String reason =
                parts[3].startsWith(reporter) ? parts[3] : reporter + "reported: " + parts[3];
        return Optional.of(
                switch (parts[1]) {
                    case "MismatchException" -> new MismatchException(FailureContext.NONE, reason);
                    case "OperationTimeoutException" ->
                            new OperationTimeoutException(FailureContext.NONE, reason);
                    case "GroupAbortedException" ->
                            new GroupAbortedException(FailureContext.NONE, reason);
                    case "PeerLeftException" ->
                            new PeerLeftException(FailureContext.NONE, reason, peer);
                    default -> new PeerLostException(FailureContext.NONE, reason, peer);
                });
    }
}
