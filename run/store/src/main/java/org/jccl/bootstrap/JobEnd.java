package org.jccl.bootstrap;

import java.util.List;
import org.jccl.Store;
import org.jccl.store.PrefixStore;

/**
 * Notifies ranks that the job is over. A launcher that replaces lost ranks uses it: after a rank
 * has ended normally, no rank will be replaced any more.
 */
public final class JobEnd {

    private static final String KEY = "jccl/job-over";

    private JobEnd() {}

    /**
     * Notifies all ranks.
     *
     * @param store the store of the job, or a view of it
     */
    public static void tell(Store store) {
        PrefixStore.root(store).set(KEY, new byte[0]);
    }

    /**
     * Returns whether a launcher has reported that the job is over.
     *
     * @param store the store of the job, or a view of it
     * @return whether a rank has ended normally
     */
    public static boolean isTold(Store store) {
        return PrefixStore.root(store).check(List.of(KEY));
    }
}
