package org.jccl.bootstrap;

import java.util.List;
import org.jccl.Store;
import org.jccl.store.PrefixStore;

/**
 * How a launcher that replaces lost ranks tells ranks that the job is over: a rank has ended
 * normally, so no rank will come any more.
 */
public final class JobEnd {

    private static final String KEY = "jccl/job-over";

    private JobEnd() {}

    /**
     * Tells all ranks.
     *
     * @param store the store of the job, or a view of it
     */
    public static void tell(Store store) {
        PrefixStore.root(store).set(KEY, new byte[0]);
    }

    /**
     * Returns whether a launcher has told that the job is over.
     *
     * @param store the store of the job, or a view of it
     * @return whether a rank has ended normally
     */
    public static boolean isTold(Store store) {
        return PrefixStore.root(store).check(List.of(KEY));
    }
}
