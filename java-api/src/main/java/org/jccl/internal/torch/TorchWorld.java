package org.jccl.internal.torch;

import org.jccl.FailureContext;
import org.jccl.Store;
import org.jccl.StoreException;
import org.jccl.UsageException;
import org.jccl.bootstrap.Membership;
import org.jccl.store.PrefixStore;

/** The part of a store in which PyTorch's ranks expect a world. */
public final class TorchWorld {

    private TorchWorld() {}

    /**
     * Finds that part. The names are the same for every world, so a store can have one only.
     *
     * @param shared the store of all ranks
     * @param member this rank
     * @param byInitMethod whether an init method led to the store: then PyTorch's ranks put a
     *     prefix before all keys
     * @param servedByRank0 whether the store ends with the world
     * @return the part
     * @throws StoreException when rank 0 still serves the store of an earlier world
     * @throws UsageException when the store has had a world of PyTorch's ranks
     */
    public static Store partOf(
            Store shared, Membership member, boolean byInitMethod, boolean servedByRank0) {
        if (shared.add("jccl/torch/" + member.restarts() + "/" + member.rank(), 1) > 1) {
            String why =
                    "rank %s has joined a world with PyTorch's ranks in this store before, and PyTorch's names of keys can not tell two worlds apart"
                            .formatted(member.rank());
            if (servedByRank0) {
                throw new StoreException(why + ": close the old group on every rank", null);
            }
            throw new UsageException(
                    FailureContext.NONE,
                    "%s: give each world a store of its own, for instance another port in the init method, or a PrefixStore on every rank"
                            .formatted(why));
        }
        return byInitMethod ? new PrefixStore("default_pg", shared) : shared;
    }
}
