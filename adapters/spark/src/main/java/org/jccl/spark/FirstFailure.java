package org.jccl.spark;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.Arrays;
import java.util.Optional;
import org.jccl.GroupAbortedException;
import org.jccl.JcclException;
import org.jccl.PeerLeftException;
import org.jccl.PeerLostException;
import org.jccl.Store;
import org.jccl.StoreException;

/** The first rank of an attempt that failed, and the reason, which ranks share in the store. */
final class FirstFailure {

    private static final String KEY = "jccl/spark/failure";
    private static final int LONGEST = 4096;

    private final Store store;
    private final String rank;

    /**
     * Of one rank.
     *
     * @param store that all ranks reach
     * @param rank this rank, in words
     */
    FirstFailure(Store store, String rank) {
        this.store = store;
        this.rank = rank;
    }

    /**
     * Reports a failure of this rank, unless another rank has reported one before.
     *
     * @param failure of this rank
     * @return the report of the other rank, or empty if there is none or the store is closed
     */
    Optional<String> report(Throwable failure) {
        String text = rank + " failed first: " + failure;
        byte[] mine = text.substring(0, Math.min(text.length(), LONGEST)).getBytes(UTF_8);
        try {
            byte[] first = store.compareSet(KEY, new byte[0], mine);
            return Arrays.equals(first, mine)
                    ? Optional.empty()
                    : Optional.of(new String(first, UTF_8));
        } catch (JcclException e) {
            return Optional.empty(); // it is gone, or closed since the task was killed
        }
    }

    /** Whether a failure only means that another rank, or the store's server, is gone. */
    static boolean isOfAnother(Throwable failure) {
        for (Throwable each = failure; each != null; each = each.getCause()) {
            if (each instanceof PeerLostException
                    || each instanceof PeerLeftException
                    || each instanceof GroupAbortedException
                    || each instanceof StoreException) {
                return true;
            }
        }
        return false;
    }
}
