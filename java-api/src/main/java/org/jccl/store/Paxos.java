package org.jccl.store;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import org.jccl.StoreException;

/**
 * Registers that more than half of several servers must agree on: Lamport's Paxos, in the form of
 * Rystsov's CASPaxos, in which each key is a register of its own and there is no log. This is one
 * proposer. The servers are passive {@linkplain Acceptor acceptors}, each with a {@link Register}
 * for each key.
 *
 * <ol>
 *   <li>Prepare: a new ballot is written to the servers as promised, unless they have promised a
 *       larger one. With more than half of the promises, the content with the largest accepted
 *       ballot is the present one: any content that more than half have accepted is among the
 *       answers.
 *   <li>Accept: the changed content is written to those servers, unless they have made another
 *       promise since. If more than half accept it, it is the next content.
 * </ol>
 *
 * <p>An attempt that fails is repeated with a larger ballot. It may have had an effect, if another
 * proposer has found its content, so a change must be right if it is applied twice.
 *
 * <p>Thread-safe.
 */
final class Paxos {

    private static final Duration LONGEST_PAUSE = Duration.ofSeconds(1);

    /** Pauses need not be longer than so many attempts: then several proposers fit between two. */
    private static final int LONGEST_IN_ATTEMPTS = 4;

    private final List<? extends Acceptor> acceptors;
    private final int majority;
    private final long proposer;
    private final Duration firstPause;
    private final int looks;
    private final AtomicLong highestRound = new AtomicLong();

    /**
     * Creates a proposer.
     *
     * @param proposer a random number that is not 0 and that no other proposer has
     * @param firstPause about how long to wait after the first attempt that fails
     * @param looks how often to read a key that is being changed before its change is completed
     */
    Paxos(List<? extends Acceptor> acceptors, long proposer, Duration firstPause, int looks) {
        this.acceptors = acceptors;
        this.majority = acceptors.size() / 2 + 1;
        this.proposer = proposer;
        this.firstPause = firstPause;
        this.looks = looks;
    }

    long proposer() {
        return proposer;
    }

    /** Why an attempt did not succeed. */
    private static final class Trouble {
        private final List<StoreException> failures = new ArrayList<>();
        private boolean refused;
    }

    /** An attempt returns empty if it did not succeed. */
    private interface Attempt<T> {
        Optional<T> make(Trouble trouble);
    }

    /**
     * Changes a key.
     *
     * @param change returns the next content; may be called several times
     * @return the content after the change, and whether all servers that are left have it
     * @throws StoreException if too few servers answer until the deadline
     */
    Changed change(String key, UnaryOperator<Content> change, Deadline deadline) {
        return repeat(deadline, trouble -> attempt(key, change, trouble));
    }

    /**
     * A change that was made.
     *
     * @param after the content after it
     * @param everywhere whether all servers that are not gone have accepted it, and not only more
     *     than half
     */
    record Changed(Content after, boolean everywhere) {}

    /**
     * Reads keys, each for itself.
     *
     * @throws StoreException if too few servers answer until the deadline
     */
    List<Content> read(List<String> keys, Deadline deadline) {
        List<Optional<Content>> contents = look(keys, deadline);
        Duration pause = firstPause;
        // A change that is under way is soon complete. Ending it here would only disturb its
        // client.
        for (int again = 1;
                again < looks && contents.stream().anyMatch(Optional::isEmpty);
                again++) {
            pause(pause, deadline);
            pause = pause.multipliedBy(2);
            contents = look(keys, deadline);
        }
        List<Content> all = new ArrayList<>(keys.size());
        for (int i = 0; i < keys.size(); i++) {
            String key = keys.get(i);
            all.add(
                    contents.get(i)
                            .orElseGet(
                                    () -> change(key, UnaryOperator.identity(), deadline).after()));
        }
        return all;
    }

    /** Returns what the servers agree on; empty where nobody knows yet what others will find. */
    private List<Optional<Content>> look(List<String> keys, Deadline deadline) {
        List<List<Register>> answers =
                repeat(
                        deadline,
                        trouble -> {
                            Map<Acceptor, List<Register>> read =
                                    ask(
                                            acceptors,
                                            majority,
                                            each -> Optional.of(registers(each, keys)),
                                            trouble);
                            return read.size() < majority
                                    ? Optional.empty()
                                    : Optional.of(List.copyOf(read.values()));
                        });
        List<Optional<Content>> contents = new ArrayList<>(keys.size());
        for (int i = 0; i < keys.size(); i++) {
            Register first = answers.get(0).get(i);
            boolean agreed = true;
            for (List<Register> each : answers) {
                agreed &= each.get(i).accepted().equals(first.accepted());
            }
            contents.add(agreed ? Optional.of(first.content()) : Optional.empty());
        }
        return contents;
    }

    private static List<Register> registers(Acceptor acceptor, List<String> keys) {
        return acceptor.read(keys).stream().map(Register::of).toList();
    }

    /**
     * Makes attempts until one succeeds. The random pauses between them grow until other proposers
     * have time to succeed.
     */
    private <T> T repeat(Deadline deadline, Attempt<T> attempt) {
        Duration pause = firstPause;
        while (true) {
            Trouble trouble = new Trouble();
            connect(trouble);
            long begin = System.nanoTime();
            Optional<T> result = attempt.make(trouble);
            if (result.isPresent()) {
                return result.get();
            }
            Duration most =
                    Duration.ofNanos(System.nanoTime() - begin).multipliedBy(LONGEST_IN_ATTEMPTS);
            pause(trouble.refused ? shorter(pause, most) : pause, deadline);
            if (deadline.hasPassed()) {
                throw failure(trouble);
            }
            pause = shorter(pause.multipliedBy(2), LONGEST_PAUSE);
        }
    }

    private static Duration shorter(Duration one, Duration other) {
        return one.compareTo(other) < 0 ? one : other;
    }

    private static void pause(Duration mean, Deadline deadline) {
        int percent = ThreadLocalRandom.current().nextInt(201);
        deadline.pause(mean.multipliedBy(percent).dividedBy(100));
    }

    /**
     * Connects to servers to which it is time to connect, and to all if too few are connected. Only
     * between attempts: if one paused for a lost server, another proposer would go ahead meanwhile.
     */
    private void connect(Trouble trouble) {
        long connected = acceptors.stream().filter(Acceptor::isConnected).count();
        for (Acceptor each : acceptors) {
            if (!each.isConnected() && (each.isDue() || connected < majority)) {
                try {
                    each.connect();
                } catch (StoreException e) {
                    trouble.failures.add(e);
                }
            }
        }
    }

    private Optional<Changed> attempt(String key, UnaryOperator<Content> change, Trouble trouble) {
        Ballot ballot = new Ballot(highestRound.incrementAndGet(), proposer);
        Map<Acceptor, Register> promised =
                ask(acceptors, acceptors.size(), each -> promise(each, key, ballot), trouble);
        if (promised.size() < majority) {
            return Optional.empty();
        }
        Register latest =
                promised.values().stream()
                        .max(Comparator.comparing(Register::accepted))
                        .orElseThrow();
        Content after = change.apply(latest.content());
        byte[] desired = new Register(ballot, ballot, after).bytes();
        Map<Acceptor, Boolean> accepted =
                ask(
                        promised.keySet(),
                        acceptors.size(),
                        each -> {
                            byte[] expected = promised.get(each).bytes();
                            byte[] now = each.compareSet(key, expected, desired);
                            return Arrays.equals(now, desired)
                                    ? Optional.of(true)
                                    : Optional.empty();
                        },
                        trouble);
        if (accepted.size() < majority) {
            return Optional.empty();
        }
        boolean everywhere =
                acceptors.stream().allMatch(each -> each.isGone() || accepted.containsKey(each));
        return Optional.of(new Changed(after, everywhere));
    }

    /**
     * Asks connected servers, one after the other.
     *
     * @param enough after how many answers to stop
     * @param question returns empty if the server refuses
     */
    private static <T> Map<Acceptor, T> ask(
            Collection<? extends Acceptor> servers,
            int enough,
            Function<Acceptor, Optional<T>> question,
            Trouble trouble) {
        Map<Acceptor, T> answers = new LinkedHashMap<>();
        for (Acceptor each : servers) {
            if (answers.size() < enough && each.isConnected()) {
                try {
                    question.apply(each)
                            .ifPresentOrElse(
                                    answer -> answers.put(each, answer),
                                    () -> trouble.refused = true);
                } catch (StoreException e) {
                    trouble.failures.add(e);
                }
            }
        }
        return answers;
    }

    private StoreException failure(Trouble trouble) {
        if (trouble.refused) {
            return new StoreException(
                    "other clients changed the same key of the replicated store all the time; try again",
                    null);
        }
        String why =
                trouble.failures.stream()
                        .map(StoreException::reason)
                        .distinct()
                        .collect(Collectors.joining("; "));
        return new StoreException(
                "%s of %s servers of the replicated store must answer, and too few do: %s. Start the job again from a checkpoint if they are lost"
                        .formatted(majority, acceptors.size(), why),
                trouble.failures.isEmpty() ? null : trouble.failures.get(0));
    }

    /** Returns the register with the promise, or empty if a larger one was made. */
    private Optional<Register> promise(Acceptor acceptor, String key, Ballot ballot) {
        byte[] present = acceptor.read(List.of(key)).get(0);
        while (true) {
            Register register = Register.of(present);
            if (register.promised().compareTo(ballot) >= 0) {
                highestRound.accumulateAndGet(register.promised().round(), Math::max);
                return Optional.empty();
            }
            Register next = register.promising(ballot);
            byte[] now = acceptor.compareSet(key, present, next.bytes());
            if (Arrays.equals(now, next.bytes())) {
                return Optional.of(next);
            }
            if (Arrays.equals(now, present)) {
                // The key has been deleted, so its register is empty again.
                return Optional.empty();
            }
            present = now;
        }
    }
}
