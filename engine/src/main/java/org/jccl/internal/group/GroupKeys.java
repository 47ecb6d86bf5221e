package org.jccl.internal.group;

import java.util.List;
import java.util.OptionalInt;
import org.jccl.FailureContext;
import org.jccl.Interop;
import org.jccl.Store;
import org.jccl.bootstrap.Membership;

/**
 * The keys of a group in a world that also has ranks of another API. Those ranks determine where in
 * the store communicators are formed. There is one object for each group.
 */
public interface GroupKeys {

    /** Joins a world that has ranks of another API. */
    @FunctionalInterface
    interface Joining {

        /**
         * Finds the part of the store in which those ranks expect the world.
         *
         * @param interop the other API, not {@link Interop#NONE}
         * @param shared the store of all ranks
         * @param member this rank
         * @param byInitMethod whether an init method led to the store
         * @param rankZeroServes whether the store ends with the world
         * @return the keys of the world
         * @throws org.jccl.StoreException if rank 0 still serves the store of an earlier world
         * @throws org.jccl.UsageException if the store cannot be used for another world
         */
        GroupKeys join(
                Interop interop,
                Store shared,
                Membership member,
                boolean byInitMethod,
                boolean rankZeroServes);
    }

    /** Returns the other API; never {@link Interop#NONE}. */
    Interop interop();

    /** Returns the name of the group among those ranks, the same on every rank. */
    String name();

    /** Returns the part of the store that belongs to the world. */
    Store world();

    /** Returns what messages call the ranks of the other API, in the plural. */
    String peers();

    /**
     * Returns the keys of the next group. Every rank of the world calls it on the keys of the
     * world, also ranks that are not members of the new group.
     *
     * @throws org.jccl.UsageException if the other API cannot make this group
     */
    GroupKeys next(FailureContext context, List<Integer> ranks);

    /**
     * Returns the color with which the other API splits the communicator of the world for a group,
     * or empty if it forms a new communicator instead.
     */
    OptionalInt color(List<Integer> ranks);

    /**
     * Returns whether those ranks call barriers on the accelerator even if the group has a backend
     * for the CPU.
     */
    boolean barriersOnDevice();

    /**
     * Returns whether those ranks form the communicator of the CPU before those of accelerators, in
     * whatever order the backends were named.
     */
    boolean cpuFirst();

    /** Returns the part of the store in which communicators for a type of device are formed. */
    Store communicator(String deviceType);
}
