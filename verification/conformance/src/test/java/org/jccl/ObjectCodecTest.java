package org.jccl;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.jccl.testing.Patience.enough;

import java.io.IOException;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.jccl.conformance.ConformanceBackend;
import org.jccl.conformance.inmemory.InMemoryProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Objects of a program, and failures of its codec on one rank, which all ranks get at once. */
@Timeout(60)
class ObjectCodecTest {

    private static final int RANKS = 3;

    /** Longer than a test may take, so that a rank that waits is a failure. */
    private static final Duration TIMEOUT = enough(Duration.ofSeconds(120));

    private record Person(String name, int age) {}

    /** A person without a name, or one whose age is no number, is refused. */
    private static final class PersonCodec implements ObjectCodec<Person> {
        @Override
        public byte[] encode(Person person) throws IOException {
            if (person.name.isEmpty()) {
                throw new IOException("no name");
            }
            if (person.age < 0) {
                throw new StackOverflowError();
            }
            return person.age == 0 ? null : (person.name + "," + person.age).getBytes(UTF_8);
        }

        @Override
        public Person decode(byte[] bytes) throws IOException {
            String[] parts = new String(bytes, UTF_8).split(",");
            if (parts[0].equals("unreadable")) {
                throw new IOException("old format");
            }
            return parts[0].equals("nobody")
                    ? null
                    : new Person(parts[0], Integer.parseInt(parts[1]));
        }
    }

    private static final ObjectCodec<Person> CODEC = new PersonCodec();

    private interface Body {
        void run(ProcessGroup group);
    }

    private static void onRanks(Body body) {
        InMemoryProvider provider = new InMemoryProvider();
        ConformanceBackend backend =
                (store, rank, size, timeout) ->
                        TestGroups.world(provider, store, rank, size, timeout);
        backend.ranks().run(RANKS, TIMEOUT, rank -> body.run(rank.group()));
    }

    private static Person person(int rank) {
        return new Person("p".repeat(1 + 1000 * rank), 1 + rank);
    }

    private static List<Person> persons() {
        return IntStream.range(0, RANKS).mapToObj(ObjectCodecTest::person).toList();
    }

    /** After a failure the next call works: ranks were at the same call. */
    private static void requireUsable(ProcessGroup group) {
        assertThat(ObjectCollectives.allGather(group, person(group.rank()), CODEC))
                .isEqualTo(persons());
    }

    @Test
    void objectsOfDifferentSizesAreSent() {
        onRanks(
                group -> {
                    requireUsable(group);
                    for (int root = 0; root < RANKS; root++) {
                        boolean isRoot = group.rank() == root;
                        Optional<List<Person>> gathered =
                                ObjectCollectives.gather(group, person(group.rank()), root, CODEC);
                        assertThat(gathered)
                                .isEqualTo(isRoot ? Optional.of(persons()) : Optional.empty());
                        List<Person> none = Collections.nCopies(RANKS, null);
                        assertThat(
                                        ObjectCollectives.broadcast(
                                                group, isRoot ? persons() : none, root, CODEC))
                                .isEqualTo(persons());
                        assertThat(
                                        ObjectCollectives.scatter(
                                                group, isRoot ? persons() : null, root, CODEC))
                                .isEqualTo(person(group.rank()));
                    }
                });
    }

    @Test
    void oneObjectIsSentToOneRankOrToAll() {
        onRanks(
                group -> {
                    for (int root = 0; root < RANKS; root++) {
                        Person mine = group.rank() == root ? person(root) : null;
                        assertThat(ObjectCollectives.broadcastObject(group, mine, root, CODEC))
                                .isEqualTo(person(root));
                    }
                    int next = (group.rank() + 1) % RANKS;
                    int previous = (group.rank() + RANKS - 1) % RANKS;
                    if (group.rank() == 0) {
                        ObjectCollectives.sendObject(group, person(0), next, CODEC);
                    }
                    assertThat(ObjectCollectives.recvObject(group, previous, CODEC))
                            .isEqualTo(person(previous));
                    if (group.rank() != 0) {
                        ObjectCollectives.sendObject(group, person(group.rank()), next, CODEC);
                    }
                    requireUsable(group);
                });
    }

    @Test
    void anObjectThatCannotBeEncodedIsAnExceptionOfItsReceiver() {
        onRanks(
                group -> {
                    Person bad = new Person("", 1);
                    Body call =
                            group.rank() == 0
                                    ? g -> ObjectCollectives.sendObject(g, bad, 1, CODEC)
                                    : g -> ObjectCollectives.recvObject(g, 0, CODEC);
                    if (group.rank() < 2) {
                        assertThatThrownBy(() -> call.run(group))
                                .isInstanceOf(UsageException.class)
                                .hasMessageContaining(
                                        group.rank() == 0 ? "no name" : "rank 0 is null or cannot");
                    }
                    requireUsable(group);
                });
    }

    private static void allRanksRefuse(ProcessGroup group, Person bad, String own) {
        boolean fails = group.rank() == 1;
        List<Person> mine = Arrays.asList(person(0), fails ? bad : person(1), person(2));
        String words = fails ? own : "rank 1 is null or cannot be encoded";
        for (Body call :
                List.<Body>of(
                        g -> ObjectCollectives.allGather(g, fails ? bad : person(0), CODEC),
                        g -> ObjectCollectives.gather(g, fails ? bad : person(0), 0, CODEC),
                        g -> ObjectCollectives.broadcast(g, mine, 1, CODEC),
                        g -> ObjectCollectives.scatter(g, mine, 1, CODEC))) {
            assertThatThrownBy(() -> call.run(group))
                    .isInstanceOf(UsageException.class)
                    .hasMessageContaining(words);
            requireUsable(group);
        }
    }

    @Test
    void anObjectThatCannotBeEncodedIsAnExceptionOfAllRanks() {
        onRanks(
                group -> {
                    allRanksRefuse(group, new Person("", 1), "java.io.IOException: no name");
                    allRanksRefuse(group, new Person("x", -1), "StackOverflowError");
                    allRanksRefuse(group, new Person("x", 0), "the encoded value is null");
                    allRanksRefuse(group, null, "value is null");
                    if (group.rank() == 1) {
                        assertThat(
                                        catchThrowable(
                                                () ->
                                                        ObjectCollectives.allGather(
                                                                group, new Person("", 1), CODEC)))
                                .hasCauseInstanceOf(IOException.class);
                    } else {
                        assertThat(
                                        catchThrowable(
                                                () ->
                                                        ObjectCollectives.allGather(
                                                                group, person(1), CODEC)))
                                .isInstanceOf(UsageException.class);
                    }
                });
    }

    @Test
    void severalRanksWithoutAnObjectThrowTheirOwnException() {
        onRanks(
                group -> {
                    byte[] value = group.rank() == 0 ? new byte[1] : null;
                    assertThatThrownBy(() -> ObjectCollectives.allGather(group, value))
                            .isInstanceOf(UsageException.class)
                            .hasMessageContaining(
                                    group.rank() == 0 ? "rank 1 is null" : "value is null");
                    requireUsable(group);
                });
    }

    @Test
    void anObjectThatCannotBeDecodedIsAnExceptionOfTheReceiver() {
        onRanks(
                group -> {
                    for (String name : List.of("unreadable", "nobody")) {
                        List<Person> all = List.of(person(0), new Person(name, 1), person(2));
                        Throwable thrown =
                                catchThrowable(
                                        () -> ObjectCollectives.scatter(group, all, 0, CODEC));
                        if (group.rank() != 1) {
                            assertThat(thrown).isNull();
                        } else if (name.equals("nobody")) {
                            assertThat(thrown).hasMessageContaining("the decoded value is null");
                        } else {
                            assertThat(thrown)
                                    .isInstanceOf(UsageException.class)
                                    .hasMessageContaining("12 bytes cannot be decoded")
                                    .hasCauseInstanceOf(IOException.class);
                        }
                        requireUsable(group);
                    }
                });
    }

    @Test
    void nullIsRefused() {
        onRanks(
                group -> {
                    Person one = person(0);
                    List<Person> all = persons();
                    for (Body call :
                            List.<Body>of(
                                    g -> ObjectCollectives.allGather(g, one, null),
                                    g -> ObjectCollectives.gather(g, one, 0, null),
                                    g -> ObjectCollectives.broadcast(g, all, 0, null),
                                    g -> ObjectCollectives.broadcastObject(g, one, 0, null),
                                    g -> ObjectCollectives.sendObject(g, one, 0, null),
                                    g -> ObjectCollectives.recvObject(g, 0, null),
                                    g -> ObjectCollectives.scatter(g, all, 0, null))) {
                        assertThatThrownBy(() -> call.run(group))
                                .isInstanceOf(UsageException.class)
                                .hasMessageContaining("codec is null");
                    }
                    requireUsable(group);
                });
    }
}
