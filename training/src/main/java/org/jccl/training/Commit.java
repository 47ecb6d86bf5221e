package org.jccl.training;

import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.OperationTimeoutException;
import org.jccl.PeerLostException;
import org.jccl.ProcessGroup;
import org.jccl.ProcessGroupBuilder;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.UsageException;

/**
 * Makes each training step on all ranks or on none, even if ranks are lost and replaced. This is an
 * atomic commit, like torchft's {@code should_commit}: each rank votes when it has the averaged
 * gradients, and the step is made if all vote for it.
 *
 * <pre>{@code
 * new Commit(replica).run(
 *         ProcessGroup.builder().backend("gloo").reconfigurable(2),
 *         steps,
 *         Duration.ofSeconds(20),
 *         (group, step) -> {
 *             // forward, backward, average the gradients over the group
 *             return true;
 *         });
 * }</pre>
 *
 * <p>A rank is in doubt if it voted for a step and did not learn the result because another rank
 * was lost. {@link #enter} decides about the step with the remaining ranks: they make it if one of
 * them has made it, or if all of them are in doubt. So they make it whenever the lost rank may have
 * made it, because that rank did so only if all had voted for it. Ranks that are new, or that
 * missed a generation, get the state from a rank that did not.
 *
 * <p>{@link #run} is a loop over {@link #enter}, {@link #vote} and {@link
 * ProcessGroup#reconfigure}, which programs may also write themselves.
 *
 * <p>Not thread-safe. After a failure of the group, only {@link #enter} may be called, with the
 * next generation.
 */
public final class Commit {

    /** Marks a rank that has been in no generation. */
    private static final long NEW = -1;

    /** Marks a rank whose state was being replaced when the sender was lost. */
    private static final long INCOMPLETE = -2;

    private static final System.Logger LOGGER = System.getLogger(Commit.class.getName());

    private final Replica replica;
    private ProcessGroup group;
    private long steps;
    private long entered = NEW;
    private boolean inDoubt;
    private boolean newcomersWait;

    /**
     * Creates a commit that begins with step 0.
     *
     * @param replica the state of this rank
     * @throws UsageException if it is null
     */
    public Commit(Replica replica) {
        this(replica, 0);
    }

    /**
     * Creates a commit that continues from a checkpoint.
     *
     * @param replica the state of this rank
     * @param steps the number of steps that were made before
     * @throws UsageException if the replica is null or the number is negative
     */
    public Commit(Replica replica, long steps) {
        if (replica == null || steps < 0) {
            throw new UsageException(
                    FailureContext.NONE,
                    "Commit: pass a replica and a number of steps that is not negative, got "
                            + (replica == null ? "null" : steps));
        }
        this.replica = replica;
        this.steps = steps;
    }

    /**
     * Returns the number of steps that were made, the same on all ranks of the group after {@link
     * #enter}.
     *
     * @return the number of the next step, from 0
     */
    public long steps() {
        return steps;
    }

    /**
     * Returns whether ranks were waiting for the next generation at the last vote, the same on all
     * ranks. If true, call {@link ProcessGroup#reconfigure}.
     *
     * @return true if ranks were waiting
     */
    public boolean newcomersWait() {
        return newcomersWait;
    }

    /**
     * The state that a rank reports when it enters a generation.
     *
     * @param entered the last generation that it has entered, {@link #NEW} or {@link #INCOMPLETE}
     */
    private record Entry(long entered, long steps, boolean inDoubt) {

        static final int LONGS = 3;

        long[] longs() {
            return new long[] {entered, steps, inDoubt ? 1 : 0};
        }

        static Entry of(long[] all, int rank) {
            int at = rank * LONGS;
            return new Entry(all[at], all[at + 1], all[at + 2] != 0);
        }
    }

    /**
     * Enters a generation: decides about a step in doubt, and sends the state to ranks that lack
     * it. All ranks of the group must call it, once for each generation. If all ranks are new, rank
     * 0 sends its state to the others. May call {@link Replica#apply}. Ranks that neither send nor
     * receive the state return before it is sent.
     *
     * <p>If it fails, the program reconfigures again, as after any failure.
     *
     * @param generation the group
     * @throws UsageException if it is null, was entered before, or is older than one that was
     *     entered
     * @throws GroupAbortedException if all ranks with a complete state were lost
     * @throws org.jccl.JcclException if the group fails
     */
    public void enter(ProcessGroup generation) {
        if (generation == null || generation.generation() <= entered) {
            throw new UsageException(
                    FailureContext.NONE,
                    "Commit: enter each generation once, got %s after generation %s"
                            .formatted(generation, entered));
        }
        group = generation;
        newcomersWait = false;
        List<Entry> entries = exchange(new Entry(entered, steps, inDoubt));
        long last = entries.stream().mapToLong(Entry::entered).max().orElseThrow();
        List<Integer> current = ranks(entries, last);
        if (last == INCOMPLETE) {
            throw new GroupAbortedException(
                    FailureContext.ofGroup(group.name(), group.rank()),
                    "all ranks with a complete state were lost; start the job again from a checkpoint");
        }
        if (last == NEW) {
            transfer(current.subList(0, 1), entries.get(current.get(0)).steps());
        } else {
            long made = decide(entries, current);
            if (current.contains(group.rank())) {
                make(made);
            }
            transfer(current, made);
        }
        entered = group.generation();
    }

    /** Ends the doubt of a rank that has the state. */
    private void make(long made) {
        boolean pending = steps < made;
        steps = made;
        inDoubt = false;
        if (pending) {
            replica.apply();
        }
    }

    /**
     * Returns the number of steps after the decision about a step in doubt. Members of the last
     * generation began it with equal states, so they differ by at most one step.
     */
    private long decide(List<Entry> entries, List<Integer> current) {
        long most = current.stream().mapToLong(rank -> entries.get(rank).steps()).max().orElse(0);
        boolean allInDoubt = true;
        for (int rank : current) {
            Entry each = entries.get(rank);
            if (each.steps() < most && !(each.steps() == most - 1 && each.inDoubt())) {
                throw new IllegalStateException(
                        "rank %s has made %s steps and cannot make the one that others made: %s"
                                .formatted(rank, each.steps(), entries));
            }
            allInDoubt &= each.steps() == most && each.inDoubt();
        }
        return allInDoubt ? most + 1 : most;
    }

    private static List<Integer> ranks(List<Entry> entries, long entered) {
        return IntStream.range(0, entries.size())
                .filter(rank -> entries.get(rank).entered() == entered)
                .boxed()
                .toList();
    }

    private List<Entry> exchange(Entry own) {
        try (Tensor mine = StateTransfer.longs(group, own.longs());
                Tensor all = StateTransfer.longs(group, new long[group.size() * Entry.LONGS])) {
            group.sync().allGatherSingle(all, mine);
            long[] longs = all.copyTo(new long[group.size() * Entry.LONGS]);
            return IntStream.range(0, group.size())
                    .mapToObj(rank -> Entry.of(longs, rank))
                    .toList();
        }
    }

    /** Sends the state from each rank that has it to some of the others. */
    private void transfer(List<Integer> with, long made) {
        StateTransfer transfer = new StateTransfer(group, replica);
        int number = 0;
        for (int to = 0; to < group.size(); to++) {
            if (with.contains(to)) {
                continue;
            }
            int from = with.get(number++ % with.size());
            if (group.rank() == from) {
                transfer.send(to);
            } else if (group.rank() == to) {
                entered = INCOMPLETE;
                transfer.receive(from);
                steps = made;
                inDoubt = false;
            }
        }
    }

    /**
     * Votes about the next step, and makes it with {@link Replica#apply} if all ranks vote for it.
     * All ranks of the group must call it when their averaged gradients are complete. On a device,
     * the current stream must produce the gradients before this call, which waits for that stream.
     * Costs one all_reduce of two numbers; rank 0 also sends a request to the store.
     *
     * @param ready true to vote for the step; false for instance if the gradients are not finite
     * @return whether the step was made
     * @throws UsageException if no generation was entered
     * @throws org.jccl.JcclException if the group fails; this rank may then be in doubt until it
     *     enters the next generation
     */
    public boolean vote(boolean ready) {
        if (group == null || group.generation() != entered) {
            throw new UsageException(
                    FailureContext.NONE, "Commit: enter the generation before the first vote");
        }
        boolean waits = group.rank() == 0 && group.hasNewcomers();
        long[] votes = new long[2];
        try (Tensor flags = StateTransfer.longs(group, ready ? 1 : 0, waits ? 0 : 1)) {
            // On a device the averages may still be in flight. This read is ordered after them and
            // throws their failure.
            flags.copyTo(votes);
            // From now on, the others may make the step without this rank's knowledge.
            inDoubt = ready;
            group.sync().allReduce(flags, ReduceOp.MIN);
            flags.copyTo(votes);
        }
        inDoubt = false;
        newcomersWait = votes[1] == 0;
        if (votes[0] == 0) {
            return false;
        }
        steps++;
        replica.apply();
        return true;
    }

    /** Computes the gradients of a step. */
    @FunctionalInterface
    public interface Step {

        /**
         * Computes the averaged gradients of a step, which {@link Replica#apply} uses. Called again
         * for the same step if it was not made.
         *
         * @param group the current generation. Objects that the program makes on it end with it
         * @param step the number of the step, from 0
         * @return the vote of this rank
         */
        boolean compute(ProcessGroup group, long step);
    }

    /**
     * Makes steps until {@code last} steps are made, over as many generations of a world as
     * necessary. Joins the world, and continues in the next generation when a rank is lost or
     * joins. A step that is voted down is repeated without a limit.
     *
     * @param world the options of the world, with {@link
     *     org.jccl.ProcessGroupBuilder#reconfigurable}
     * @param last the total number of steps
     * @param patience how long to wait for missing ranks, see {@link ProcessGroup#reconfigure}
     * @param step computes a step; may throw the exceptions of the group
     * @throws UsageException if an argument is null, or the world is not reconfigurable
     * @throws org.jccl.JcclException if the world cannot be joined, or no generation is formed
     */
    public void run(ProcessGroupBuilder world, long last, Duration patience, Step step) {
        if (world == null || patience == null || step == null) {
            throw new UsageException(
                    FailureContext.NONE, "Commit: world, patience and step must not be null");
        }
        ProcessGroup present = world.build();
        try {
            while (!reaches(present, last, step)) {
                ProcessGroup old = present;
                present = old.reconfigure(patience);
                old.close();
            }
        } finally {
            present.close();
        }
    }

    /**
     * Makes the remaining steps. Returns true when all are made, or false if a new generation is
     * needed.
     */
    private boolean reaches(ProcessGroup present, long last, Step step) {
        try {
            enter(present);
            while (steps < last) {
                if (newcomersWait) {
                    return false;
                }
                vote(step.compute(present, steps));
            }
            return true;
        } catch (PeerLostException | OperationTimeoutException | GroupAbortedException e) {
            LOGGER.log(System.Logger.Level.INFO, "{0}; reconfiguring", e.getMessage());
            return false;
        }
    }
}
