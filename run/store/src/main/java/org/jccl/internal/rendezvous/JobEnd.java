package org.jccl.internal.rendezvous;

import java.util.List;
import org.jccl.Store;
import org.jccl.store.PrefixStore;

/**
 * How a launcher that replaces lost ranks tells ranks that the job is over: a rank has ended well,
 * so nobody will come any more.
 */
public final class JobEnd {

    private static final String KEY = "jccl/job-over";

    private JobEnd() {}

    /** Tells all ranks. */
    public static void tell(Store store) {
        PrefixStore.root(store).set(KEY, new byte[0]);
    }

    /** Returns whether a rank has ended well. */
    public static boolean isTold(Store store) {
        return PrefixStore.root(store).check(List.of(KEY));
    }
}
