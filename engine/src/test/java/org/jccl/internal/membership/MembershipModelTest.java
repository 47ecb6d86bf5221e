package org.jccl.internal.membership;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.function.IntConsumer;
import org.jccl.internal.membership.Candidate.State;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Walks every interleaving of the steps of three candidates, with a number of failures at any
 * moment: a process is killed, a wait ends although all are there, a group is not formed although
 * all could, or a member leaves a generation that works. What follows from a failure may happen at
 * any moment too: a replacement starts, waits end, and members leave. Old keys may be deleted at
 * any moment. States that differ only in the numbers of attempts, or in keys that nobody will read,
 * are one state, so the walk ends without a limit on attempts.
 */
@Timeout(600)
@Tag("all")
class MembershipModelTest {

    private static final int SIZE = 3;

    /** A store that is copied for each branch. */
    private static final class Keys implements MembershipKeys {
        private final Map<String, String> values;

        Keys(Map<String, String> values) {
            this.values = new TreeMap<>(values);
        }

        @Override
        public String read(String key) {
            return values.getOrDefault(key, "");
        }

        @Override
        public void announce(int attempt, int slot, String text) {
            values.put(MembershipKeys.here(attempt, slot), text);
        }

        @Override
        public Map<Integer, String> present(int attempt, int size) {
            Map<Integer, String> present = new TreeMap<>();
            for (int slot = 0; slot < size; slot++) {
                String text = read(MembershipKeys.here(attempt, slot));
                if (!text.isEmpty()) {
                    present.put(slot, text);
                }
            }
            return present;
        }

        @Override
        public String compareSet(String key, String expected, String desired) {
            if (read(key).equals(expected)) {
                values.put(key, desired);
            }
            return read(key);
        }

        @Override
        public long count(String key) {
            long count = Long.parseLong("0" + read(key)) + 1;
            values.put(key, Long.toString(count));
            return count;
        }

        void forgetBefore(int attempt) {
            values.keySet().removeIf(key -> key.contains("/") && attemptOf(key) < attempt);
        }

        static int attemptOf(String key) {
            return Integer.parseInt(key.substring(0, key.indexOf('/')));
        }

        OpenAttempt open() {
            return OpenAttempt.parse(read(OPEN));
        }
    }

    /** One state of the store and of all processes. */
    private static final class World {
        private final int minimum;
        private final Keys keys;
        private final Candidate[] candidates = new Candidate[SIZE];
        private final int[] started = new int[SIZE];
        private final boolean[] alive = new boolean[SIZE];
        private int failures;

        World(int failures, int minimum) {
            this.minimum = minimum;
            this.keys = new Keys(Map.of());
            this.failures = failures;
            for (int slot = 0; slot < SIZE; slot++) {
                start(slot);
            }
        }

        World(World other) {
            minimum = other.minimum;
            keys = new Keys(other.keys.values);
            failures = other.failures;
            for (int slot = 0; slot < SIZE; slot++) {
                candidates[slot] = new Candidate(other.candidates[slot]);
                started[slot] = other.started[slot];
                alive[slot] = other.alive[slot];
            }
        }

        void start(int slot) {
            started[slot]++;
            candidates[slot] = new Candidate(slot, id(slot), SIZE, minimum);
            alive[slot] = true;
        }

        String id(int slot) {
            return "id" + started[slot];
        }

        boolean isMember(int slot, Members members) {
            return alive[slot] && members.has(slot, id(slot));
        }

        /** Whether all members of a candidate's attempt are alive and take part in it. */
        boolean isComplete(Candidate one) {
            return one.members().slots().stream()
                    .allMatch(
                            slot ->
                                    isMember(slot, one.members())
                                            && candidates[slot].attempt() == one.attempt());
        }

        /** Whether a candidate's generation can make progress: all of its members are in it. */
        boolean isWorking(Candidate one) {
            return isComplete(one)
                    && one.members().slots().stream()
                            .allMatch(slot -> candidates[slot].state() == State.MADE);
        }

        /** Whether a rank waits for the generation after a candidate's. */
        boolean hasNewcomer(Candidate member) {
            return !keys.present(member.generation() + 1, SIZE).isEmpty();
        }

        /** Otherwise the numbers that the candidate has make no difference any more. */
        boolean isInAttempt(int slot) {
            return alive[slot] && candidates[slot].state() != State.OPENING;
        }

        boolean allAlive() {
            return alive[0] && alive[1] && alive[2];
        }

        /** This state, or one with a failure less to come if the move has no other cause. */
        Optional<World> disturbed(boolean byItself) {
            if (!byItself) {
                return Optional.of(this);
            }
            if (failures == 0) {
                return Optional.empty();
            }
            World disturbed = new World(this);
            disturbed.failures--;
            return Optional.of(disturbed);
        }

        boolean isTogether() {
            return alive[0]
                    && candidates[0].state() == State.MADE
                    && candidates[0].members().size() == SIZE
                    && isWorking(candidates[0]);
        }

        /** The state without what makes no difference. */
        String text() {
            OpenAttempt open = keys.open();
            TreeSet<Integer> attempts = new TreeSet<>(List.of(open.number(), open.last()));
            for (int slot = 0; slot < SIZE; slot++) {
                if (isInAttempt(slot)) {
                    attempts.add(candidates[slot].attempt());
                    attempts.add(candidates[slot].lastGeneration());
                }
            }
            attempts.remove(OpenAttempt.NONE);
            Map<Integer, Integer> numbers = new HashMap<>(Map.of(OpenAttempt.NONE, -1));
            attempts.forEach(attempt -> numbers.put(attempt, numbers.size() - 1));
            StringBuilder text = new StringBuilder();
            text.append(failures)
                    .append(numbers.get(open.number()))
                    .append(numbers.get(open.last()));
            Map<String, String> renamed = new TreeMap<>();
            keys.values.forEach(
                    (key, value) -> {
                        if (key.contains("/") && attempts.contains(Keys.attemptOf(key))) {
                            String rest = key.substring(key.indexOf('/'));
                            renamed.put(numbers.get(Keys.attemptOf(key)) + rest, value);
                        }
                    });
            renamed.forEach((key, value) -> text.append(' ').append(key).append(value));
            for (int slot = 0; slot < SIZE; slot++) {
                text.append(';').append(started[slot]);
                if (alive[slot]) {
                    Candidate each = candidates[slot];
                    text.append(each.state().ordinal())
                            .append(each.generation() >= 0 && each.generation() == open.last());
                }
                if (isInAttempt(slot)) {
                    Candidate each = candidates[slot];
                    text.append(numbers.get(each.attempt()))
                            .append(numbers.get(each.lastGeneration()))
                            .append(each.generation() == each.lastGeneration())
                            .append(keys.present(each.attempt() + 1, SIZE).isEmpty())
                            .append(attempts.contains(each.attempt() + 1))
                            .append(each.members().text());
                }
            }
            return text.toString();
        }
    }

    private static List<World> successors(World world) {
        List<World> next = new ArrayList<>();
        for (int each = 0; each < SIZE; each++) {
            int slot = each;
            if (!world.alive[slot]) {
                World replaced = new World(world);
                replaced.start(slot);
                next.add(replaced);
                continue;
            }
            if (world.failures > 0) {
                World killed = new World(world);
                killed.alive[slot] = false;
                killed.failures--;
                next.add(killed);
            }
            Candidate candidate = world.candidates[slot];
            switch (candidate.state()) {
                case FORMING -> {
                    boolean complete = world.isComplete(candidate);
                    if (complete) {
                        next.add(moved(world, slot, one -> one.formed(true)));
                    }
                    world.disturbed(complete)
                            .ifPresent(
                                    from -> next.add(moved(from, slot, one -> one.formed(false))));
                }
                case MADE -> {
                    world.disturbed(world.isWorking(candidate) && !world.hasNewcomer(candidate))
                            .ifPresent(from -> next.add(moved(from, slot, Candidate::leave)));
                    World forgotten = new World(world);
                    forgotten.keys.forgetBefore(candidate.generation());
                    next.add(forgotten);
                }
                case COUNTING, AWAITING, OUTSIDE -> {
                    next.add(stepped(world, slot, false));
                    world.disturbed(world.allAlive())
                            .ifPresent(from -> next.add(stepped(from, slot, true)));
                }
                default -> next.add(stepped(world, slot, false));
            }
        }
        return next;
    }

    private static World moved(World world, int slot, Consumer<Candidate> move) {
        World next = new World(world);
        move.accept(next.candidates[slot]);
        return next;
    }

    private static World stepped(World world, int slot, boolean late) {
        World next = new World(world);
        Candidate candidate = next.candidates[slot];
        candidate.step(next.keys, late);
        assertThat(candidate.state()).isNotEqualTo(State.DISPLACED);
        if (candidate.state() == State.MADE) {
            checkGeneration(next, candidate);
        }
        return next;
    }

    private static void checkGeneration(World world, Candidate made) {
        for (int slot = 0; slot < SIZE; slot++) {
            Candidate other = world.candidates[slot];
            if (!world.alive[slot] || other.state() != State.MADE) {
                continue;
            }
            if (other.generation() == made.generation()) {
                assertThat(other.members()).isEqualTo(made.members());
            } else if (other.generation() < made.generation()) {
                assertThat(world.isWorking(other))
                        .as("two generations work at the same time")
                        .isFalse();
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"0, 1", "0, 2", "1, 1"})
    void everyInterleaving(int failures, int minimum) {
        walk(failures, minimum);
    }

    /** 16.8 million states, which take 20 minutes and 8 GB of heap. */
    @Test
    @Timeout(4 * 3600)
    @EnabledIfEnvironmentVariable(named = "JCCL_TEST_MEMBERSHIP", matches = "2")
    void everyInterleavingOfTwoFailures() {
        walk(2, 1);
    }

    /** A state that was found, before its successors are known. */
    private record Found(int number, World world) {}

    private static void walk(int failures, int minimum) {
        Map<Fingerprint, Integer> numbers = new HashMap<>();
        Predecessors before = new Predecessors();
        // Last in, first out: far fewer states wait than if the nearest came first.
        Deque<Found> open = new ArrayDeque<>();
        Deque<Integer> together = new ArrayDeque<>();
        World first = new World(failures, minimum);
        numbers.put(Fingerprint.of(first.text()), 0);
        open.add(new Found(0, first));
        while (!open.isEmpty()) {
            Found found = open.pollLast();
            if (found.world().isTogether()) {
                together.add(found.number());
            }
            for (World next : successors(found.world())) {
                int number = numbers.size();
                Integer known = numbers.putIfAbsent(Fingerprint.of(next.text()), number);
                if (known == null) {
                    open.add(new Found(number, next));
                }
                before.add(known == null ? number : known, found.number());
            }
        }
        // Whatever happened, all three can still come together.
        BitSet reached = new BitSet();
        together.forEach(reached::set);
        while (!together.isEmpty()) {
            before.forEach(
                    together.poll(),
                    number -> {
                        if (!reached.get(number)) {
                            reached.set(number);
                            together.add(number);
                        }
                    });
        }
        System.out.printf("%d failures: %,d states%n", failures, numbers.size());
        assertThat(reached.nextClearBit(0))
                .as("the number of a state from which they cannot come together")
                .isEqualTo(numbers.size());
    }

    /**
     * Stands for a state, which would take ten times the memory. That two of ten million states
     * have the same one has a probability below 1 : 10^24.
     */
    private record Fingerprint(long high, long low) {

        static Fingerprint of(String text) {
            long high = 0;
            long low = 0;
            for (int i = 0; i < text.length(); i++) {
                high = mix(high + text.charAt(i) + 0x9e3779b97f4a7c15L);
                low = mix(low ^ (text.charAt(i) * 0xd1342543de82ef95L + 1));
            }
            return new Fingerprint(high, low);
        }

        /** The finalizer of SplittableRandom. */
        private static long mix(long value) {
            long mixed = (value ^ value >>> 30) * 0xbf58476d1ce4e5b9L;
            mixed = (mixed ^ mixed >>> 27) * 0x94d049bb133111ebL;
            return mixed ^ mixed >>> 31;
        }
    }

    /** From which states a state was reached: linked lists in arrays. */
    private static final class Predecessors {
        private int[] last = new int[1024];
        private int[] from = new int[1024];
        private int[] earlier = new int[1024];
        private int edges = 1;

        void add(int to, int state) {
            if (to >= last.length) {
                last = Arrays.copyOf(last, 2 * to);
            }
            if (edges == from.length) {
                from = Arrays.copyOf(from, 2 * edges);
                earlier = Arrays.copyOf(earlier, 2 * edges);
            }
            from[edges] = state;
            earlier[edges] = last[to];
            last[to] = edges++;
        }

        void forEach(int to, IntConsumer use) {
            for (int edge = to < last.length ? last[to] : 0; edge != 0; edge = earlier[edge]) {
                use.accept(from[edge]);
            }
        }
    }
}
