package org.jccl.internal.torch;

import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import org.jccl.FailureContext;
import org.jccl.Interop;
import org.jccl.Store;
import org.jccl.UsageException;
import org.jccl.internal.group.GroupKeys;
import org.jccl.store.PrefixStore;

/**
 * The keys of a store under which PyTorch's ranks form the communicators of a world's groups. The
 * world is group 0; every call of {@code new_group} takes the next number, also on ranks that are
 * not in the group.
 */
public final class TorchKeys implements GroupKeys {

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
     * Keys of the world.
     *
     * @param interop what else may be a rank
     * @param store as PyTorch's {@code init_process_group} passes it on: with the prefix {@code
     *     default_pg} when an init method led to it, as it is when the program gave it
     * @return empty for {@link Interop#NONE}
     */
    public static Optional<GroupKeys> world(Interop interop, Optional<Store> store) {
        return store.filter(shared -> interop != Interop.NONE)
                .map(shared -> new TorchKeys(interop, new PrefixStore(WORLD + "/", shared), WORLD));
    }

    @Override
    public synchronized TorchKeys next(FailureContext context, List<Integer> ranks) {
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
                        "newGroup: give the ranks in ascending order, got %s; PyTorch's ranks sort them"
                                .formatted(ranks));
            }
        }
        return new TorchKeys(interop, world, ++groupsMade);
    }

    @Override
    public Interop interop() {
        return interop;
    }

    @Override
    public String name() {
        return Integer.toString(number);
    }

    @Override
    public String peers() {
        return "PyTorch's ranks";
    }

    @Override
    public OptionalInt color(List<Integer> ranks) {
        return switch (interop) {
            case TORCH_EAGER -> OptionalInt.of(TorchColors.of(ranks));
            case TORCH_2_15 -> OptionalInt.of(ranks.get(0)); // the lowest, since they ascend
            case NONE, TORCH, TORCH_2_14_OPT_IN -> OptionalInt.empty();
        };
    }

    @Override
    public Store communicator(String deviceType) {
        Store group = number == WORLD ? world : new PrefixStore(number + "/", world);
        return new PrefixStore(deviceType + "/", group);
    }
}
