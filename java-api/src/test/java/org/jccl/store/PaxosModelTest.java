package org.jccl.store;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.testing.Patience.enough;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jccl.StoreException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Clients that change one key at the same time. A schedule chooses whose request comes next, and
 * whether it or its answer is lost. Where two servers of three are left, every schedule is walked;
 * with three, many random ones.
 */
@Timeout(300)
@Tag("all")
class PaxosModelTest {

    private static final String KEY = "k";
    private static final Deadline NEVER = Deadline.after(enough(Duration.ofMinutes(5)));

    /** Chooses one of several alternatives. */
    private interface Schedule {
        int choose(int alternatives);
    }

    /** Repeats the choices of the walk before, but for the last one that has an alternative. */
    private static final class EveryWalk implements Schedule {

        /**
         * After so many choices the first client goes on to its end, then the next, as two could
         * stop each other for ever. A client makes six requests if it is alone.
         */
        private static final int MOST_CHOICES = 12;

        private final List<int[]> made = new ArrayList<>();
        private int next;

        @Override
        public int choose(int alternatives) {
            if (next == MOST_CHOICES) {
                return 0;
            }
            if (next == made.size()) {
                made.add(new int[] {0, alternatives});
            }
            assertThat(alternatives).as("a walk is repeated").isEqualTo(made.get(next)[1]);
            return made.get(next++)[0];
        }

        boolean advance() {
            next = 0;
            while (!made.isEmpty()) {
                int[] last = made.get(made.size() - 1);
                if (++last[0] < last[1]) {
                    return true;
                }
                made.remove(made.size() - 1);
            }
            return false;
        }
    }

    /** A client in a thread of its own, which stops before each of its requests. */
    private final class Client implements AutoCloseable {

        private final SynchronousQueue<Boolean> go = new SynchronousQueue<>();
        private final SynchronousQueue<Boolean> stopped = new SynchronousQueue<>();
        private long result;

        /** Runs until the first request. */
        Client(Function<Client, Long> task) {
            threads.execute(
                    () -> {
                        result = task.apply(this);
                        pass(stopped, false);
                    });
        }

        <T> T request(Supplier<T> request) {
            pass(stopped, true);
            take(go);
            return request.get();
        }

        /** Returns whether the client is about to make a request, and has not ended. */
        boolean awaitStop() {
            return take(stopped);
        }

        void goOn() {
            pass(go, true);
        }

        @Override
        public void close() {}
    }

    private static void pass(SynchronousQueue<Boolean> queue, boolean value) {
        try {
            assertThat(queue.offer(value, 1, TimeUnit.MINUTES)).isTrue();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private static boolean take(SynchronousQueue<Boolean> queue) {
        try {
            Boolean value = queue.poll(1, TimeUnit.MINUTES);
            assertThat(value).isNotNull();
            return value;
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    /** What a client does. */
    private interface Task {
        long run(Paxos paxos);
    }

    private final ExecutorService threads = Executors.newCachedThreadPool();

    @AfterEach
    void stop() {
        threads.shutdownNow();
    }

    /** Runs clients over servers; the last ones of the servers are lost from the beginning. */
    private long[] walk(Schedule schedule, int lostServers, int losses, Task... tasks) {
        KeySpace[] servers = {new KeySpace(), new KeySpace(), new KeySpace()};
        int[] lossesLeft = {losses};
        List<Client> clients = new ArrayList<>();
        for (int i = 0; i < tasks.length; i++) {
            int number = i;
            clients.add(
                    new Client(
                            client -> {
                                List<Acceptor> acceptors = new ArrayList<>();
                                for (int server = 0; server < servers.length; server++) {
                                    boolean lost = server >= servers.length - lostServers;
                                    acceptors.add(
                                            acceptor(
                                                    client,
                                                    lost ? null : servers[server],
                                                    schedule,
                                                    lossesLeft));
                                }
                                return tasks[number].run(
                                        new Paxos(acceptors, number + 1, Duration.ZERO, 1));
                            }));
        }
        List<Client> waiting = new ArrayList<>();
        clients.stream().filter(Client::awaitStop).forEach(waiting::add);
        while (!waiting.isEmpty()) {
            Client next = waiting.get(waiting.size() == 1 ? 0 : schedule.choose(waiting.size()));
            next.goOn();
            if (!next.awaitStop()) {
                waiting.remove(next);
            }
        }
        return clients.stream().mapToLong(client -> client.result).toArray();
    }

    private static Acceptor acceptor(
            Client client, KeySpace server, Schedule schedule, int[] losses) {
        return new Acceptor() {
            private <T> T request(Supplier<T> request) {
                return client.request(
                        () -> {
                            int fate = losses[0] == 0 ? 0 : schedule.choose(3);
                            losses[0] -= fate == 0 ? 0 : 1;
                            if (fate == 1) {
                                throw new StoreException("the request was lost", null);
                            }
                            T answer = request.get();
                            if (fate == 2) {
                                throw new StoreException("the answer was lost", null);
                            }
                            return answer;
                        });
            }

            @Override
            public List<byte[]> read(List<String> keys) {
                return request(() -> server.copies(keys));
            }

            @Override
            public byte[] compareSet(String key, byte[] expected, byte[] desired) {
                return request(() -> server.compareSet(key, expected, desired));
            }

            @Override
            public boolean isConnected() {
                return server != null;
            }

            @Override
            public boolean isDue() {
                return true;
            }

            @Override
            public boolean isGone() {
                return false;
            }

            @Override
            public void connect() {
                throw new StoreException("the server is lost", null);
            }
        };
    }

    /** Adds as {@link ReplicatedStore#add} does. */
    private static Task add(long number) {
        return paxos ->
                paxos.change(
                                KEY,
                                before ->
                                        before.after(
                                                paxos.proposer(), 1, key -> key.add("", number)),
                                NEVER)
                        .after()
                        .last()
                        .get(paxos.proposer())
                        .result();
    }

    /** Sets the key unless another client has, and returns the value, as an agreement does. */
    private static Task decide(long number) {
        byte[] own = Long.toString(number).getBytes(US_ASCII);
        return paxos ->
                number(
                        paxos.change(
                                        KEY,
                                        before ->
                                                before.value().isPresent()
                                                        ? before
                                                        : Content.of(own),
                                        NEVER)
                                .after());
    }

    private static final Task READ = paxos -> number(paxos.read(List.of(KEY), NEVER).get(0));

    private static long number(Content content) {
        return Long.parseLong(new String(content.value().orElse(new byte[] {'0'}), US_ASCII));
    }

    private static void checkSums(long[] results) {
        Arrays.sort(results);
        assertThat(results).isIn(new long[] {1, 11}, new long[] {10, 11});
    }

    private interface Check {
        void of(long[] results);
    }

    private void everyWalk(int losses, Check check, Task... tasks) {
        EveryWalk schedule = new EveryWalk();
        int walks = 0;
        do {
            check.of(walk(schedule, 1, losses, tasks));
            walks++;
        } while (schedule.advance());
        System.out.printf("%,d walks%n", walks);
        assertThat(walks).isGreaterThan(900);
    }

    private void randomWalks(int walks, int losses, Check check, Task... tasks) {
        for (int seed = 0; seed < walks; seed++) {
            Random random = new Random(seed);
            check.of(walk(random::nextInt, 0, losses, tasks));
        }
    }

    @Test
    void anAdditionIsMadeOnce() {
        everyWalk(0, PaxosModelTest::checkSums, add(1), add(10));
    }

    @Test
    void anAdditionWhoseResultIsLostIsMadeOnce() {
        everyWalk(1, PaxosModelTest::checkSums, add(1), add(10));
        randomWalks(2000, 2, PaxosModelTest::checkSums, add(1), add(10));
    }

    @Test
    void allLearnTheSameDecision() {
        Check same = results -> assertThat(results[0]).isEqualTo(results[1]).isIn(1L, 2L);
        everyWalk(0, same, decide(1), decide(2));
        everyWalk(1, same, decide(1), decide(2));
        randomWalks(
                2000,
                3,
                results -> assertThat(Arrays.stream(results).distinct()).hasSize(1),
                decide(1),
                decide(2),
                decide(3));
    }

    /** A value that one read returned is not missing in a later one. */
    @Test
    void aValueThatWasReadStays() {
        Task twice =
                paxos -> {
                    long first = READ.run(paxos);
                    long second = READ.run(paxos);
                    return first > second ? -1 : second;
                };
        Check stays = results -> assertThat(results[1]).isIn(0L, 5L);
        everyWalk(1, stays, add(5), twice);
        randomWalks(2000, 2, stays, add(5), twice);
    }
}
