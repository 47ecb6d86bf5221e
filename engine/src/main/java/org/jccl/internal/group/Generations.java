package org.jccl.internal.group;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.jccl.FailureContext;
import org.jccl.Store;
import org.jccl.UsageException;
import org.jccl.internal.membership.Agreement;
import org.jccl.store.PrefixStore;

/**
 * The generations of a world whose ranks leave and come back. Each is a world of its own, with its
 * own connection to the store. The rendezvous is closed with the last open generation.
 */
final class Generations implements Agreement.Forming<Group> {

    /**
     * One of them.
     *
     * @param number its number, from 0; larger than that of the one before
     * @param all makes the next one
     */
    record Generation(int number, Generations all) {}

    private final FailureContext context;
    private final WorldBuilder options;
    private final Agreement<Group> agreement;
    private final Duration timeout;
    private final Runnable onClose;
    private final AtomicInteger open = new AtomicInteger();

    /**
     * Creates no generation yet.
     *
     * @param options makes worlds
     * @param onClose called once when all generations are closed
     */
    Generations(
            WorldBuilder options,
            int slot,
            int size,
            int minimum,
            Store store,
            Duration timeout,
            Runnable onClose) {
        this.context = FailureContext.ofGroup("world", slot);
        this.options = options;
        this.timeout = timeout;
        this.onClose = onClose;
        this.agreement = new Agreement<>(context, slot, size, minimum, true, store, this);
    }

    /** Makes the first generation of this process. If that fails, the rendezvous is closed. */
    Group first(Duration patience) {
        return next(patience, patience);
    }

    /**
     * Makes the next generation.
     *
     * @param from the number of the generation that the caller has
     * @throws UsageException if another one has followed it
     */
    synchronized Group next(int from, Duration patience) {
        if (from != agreement.generation()) {
            throw new UsageException(
                    context,
                    "reconfigure: generation %s has already followed generation %s; call it on the latest group"
                            .formatted(agreement.generation(), from));
        }
        // After having waited for ranks that do not come, there must be time to form the group.
        return next(patience, patience.plus(timeout));
    }

    private Group next(Duration patience, Duration most) {
        // Groups of attempts that fail are closed, which must not close the rendezvous.
        open.incrementAndGet();
        try {
            return agreement.next(patience, most);
        } finally {
            release();
        }
    }

    private void release() {
        if (open.decrementAndGet() == 0) {
            onClose.run();
        }
    }

    boolean hasNewcomers() {
        return agreement.hasNewcomers();
    }

    @Override
    public Group connect(int attempt, List<Integer> slots, Store store, Duration time) {
        open.incrementAndGet();
        Store part = new PrefixStore(Integer.toString(attempt), store);
        Runnable end =
                () -> {
                    store.close();
                    release();
                };
        return options.connect(
                "world/generation" + attempt,
                slots,
                Optional.of(part),
                time,
                end,
                agreement.replacedMembers(),
                Optional.of(new Generation(attempt, this)));
    }

    @Override
    public void discard(Group group) {
        group.discard();
    }
}
