package org.jccl.internal.group;

import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import org.jccl.FailureContext;
import org.jccl.Interop;
import org.jccl.Store;
import org.jccl.UsageException;
import org.jccl.store.PrefixStore;

/**
 * The places in a store where PyTorch's ranks expect the communicators of a world's groups. The
 * world is group 0; every call of {@code new_group} takes the next number, also on ranks that are
 * not in the group.
 */
final class TorchKeys {

    private static final int WORLD = 0;

    private final Interop interop;
    private final Store world;
    private final int number;
    private int groupsMade;

    private TorchKeys(Interop interop, Store world, int number) {
        this.interop = interop;
        this.world = world;
        this.number = number;
    }

    /**
     * Keys of the world, where they are needed.
     *
     * @param store as PyTorch's {@code init_process_group} passes it on: with the prefix {@code
     *     default_pg} when an init method led to it, as it is when the program gave it
     */
    static Optional<TorchKeys> world(Interop interop, Optional<Store> store) {
        return store.filter(shared -> interop != Interop.NONE)
                .map(shared -> new TorchKeys(interop, new PrefixStore(WORLD + "/", shared), WORLD));
    }

    /** Keys of the next group; on every rank of the world, called for the world. */
    synchronized TorchKeys next(FailureContext context, List<Integer> ranks) {
        if (number != WORLD) {
            throw new UsageException(
                    context,
                    "newGroup: PyTorch makes groups of the world only; call it for the world, on"
                            + " every rank");
        }
        for (int i = 1; i < ranks.size(); i++) {
            if (ranks.get(i - 1) > ranks.get(i)) {
                throw new UsageException(
                        context,
                        "newGroup: give the ranks in ascending order, got "
                                + ranks
                                + "; PyTorch's ranks sort them");
            }
        }
        return new TorchKeys(interop, world, ++groupsMade);
    }

    /** Which of PyTorch's ways it is. */
    Interop interop() {
        return interop;
    }

    /**
     * The color of a group that PyTorch's ranks split from the world's communicator, if they do.
     */
    OptionalInt color(List<Integer> ranks) {
        return interop == Interop.TORCH_EAGER
                ? OptionalInt.of(TorchColors.of(ranks))
                : OptionalInt.empty();
    }

    /** Where the communicators for a type of device meet. */
    Store communicator(String deviceType) {
        Store group = number == WORLD ? world : new PrefixStore(number + "/", world);
        return new PrefixStore(deviceType + "/", group);
    }
}
