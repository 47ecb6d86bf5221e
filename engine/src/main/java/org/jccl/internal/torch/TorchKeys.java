package org.jccl.internal.torch;

import java.util.List;
import java.util.OptionalInt;
import org.jccl.FailureContext;
import org.jccl.Interop;
import org.jccl.Store;
import org.jccl.StoreException;
import org.jccl.UsageException;
import org.jccl.bootstrap.Membership;
import org.jccl.internal.group.GroupKeys;
import org.jccl.store.PrefixStore;

/**
 * The keys under which PyTorch's ranks form the communicators of a world's groups. The world is
 * group 0. Every call of {@code new_group} takes the next number, also on ranks that are not in the
 * group.
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
     * Returns the keys of a world.
     *
     * @param world the store as PyTorch's {@code init_process_group} passes it on: with the prefix
     *     {@code default_pg} if an init method led to it, otherwise as the program gave it
     */
    public static TorchKeys of(Interop interop, Store world) {
        return new TorchKeys(interop, world, WORLD);
    }

    /**
     * Joins a world with PyTorch's ranks, see {@link GroupKeys.Joining#join}. PyTorch uses the same
     * names for every world, so a store can have one such world only.
     */
    public static TorchKeys join(
            Interop interop,
            Store shared,
            Membership member,
            boolean byInitMethod,
            boolean rankZeroServes) {
        if (shared.add("jccl/torch/" + member.restarts() + "/" + member.rank(), 1) > 1) {
            String why =
                    "rank %d has joined a world with PyTorch's ranks in this store before, and PyTorch's keys cannot tell two worlds apart"
                            .formatted(member.rank());
            if (rankZeroServes) {
                throw new StoreException(why + ": close the old group on every rank", null);
            }
            throw new UsageException(
                    FailureContext.NONE,
                    why
                            + ": give each world a store of its own, for instance by another port in the init method, or by a PrefixStore on every rank");
        }
        return of(interop, byInitMethod ? new PrefixStore("default_pg", shared) : shared);
    }

    @Override
    public synchronized TorchKeys next(FailureContext context, List<Integer> ranks) {
        if (number != WORLD) {
            throw new UsageException(
                    context,
                    "newGroup: PyTorch makes groups of the world only; call it on the world, on every rank");
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
    public Store world() {
        return world;
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
    public boolean barriersOnDevice() {
        return switch (interop) {
            case TORCH_EAGER, TORCH_2_15 -> true; // the world is bound to its device
            case NONE, TORCH, TORCH_2_14_OPT_IN -> false;
        };
    }

    @Override
    public boolean cpuFirst() {
        return interop != Interop.TORCH_2_15; // that forms each communicator when it is named
    }

    @Override
    public Store communicator(String deviceType) {
        Store first = new PrefixStore(WORLD + "/", world);
        Store group = number == WORLD ? first : new PrefixStore(number + "/", first);
        return new PrefixStore(deviceType + "/", group);
    }
}
