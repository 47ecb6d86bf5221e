package org.jccl.internal.group;

import java.util.List;
import java.util.OptionalInt;
import org.jccl.FailureContext;
import org.jccl.Interop;
import org.jccl.Store;

/**
 * Where the communicators of a group are formed, in worlds whose other ranks run another API and
 * dictate that. One object for each group.
 */
public interface GroupKeys {

    /**
     * What else may be a rank.
     *
     * @return anything but {@link Interop#NONE}
     */
    Interop interop();

    /**
     * The group's name among those ranks.
     *
     * @return the same on every rank
     */
    String name();

    /**
     * Names those ranks in messages.
     *
     * @return in the plural
     */
    String peers();

    /**
     * The keys of the next group. Every rank of the world calls it for the world, members or not.
     *
     * @param context of the calling rank
     * @param ranks of the new group
     * @return the keys of that group
     * @throws org.jccl.UsageException when the other ranks can make no such group
     */
    GroupKeys next(FailureContext context, List<Integer> ranks);

    /**
     * The color with which those ranks split the communicator of the world for a group.
     *
     * @param ranks of the group
     * @return empty when they form a new communicator instead
     */
    OptionalInt color(List<Integer> ranks);

    /**
     * The part of the store in which the communicators for a type of device are formed.
     *
     * @param deviceType for instance {@code cpu}
     * @return part of the world's store
     */
    Store communicator(String deviceType);
}
