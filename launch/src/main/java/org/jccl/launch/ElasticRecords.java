package org.jccl.launch;

import java.util.Arrays;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jccl.Store;
import org.jccl.StoreException;
import org.jccl.store.PrefixStore;

/**
 * The records that the launchers of an elastic job exchange in their store, each as lines of text.
 * Each key has one writer, except the count of launchers.
 *
 * <table>
 * <caption>Keys</caption>
 * <tr><th>key</th><th>value</th><th>written by</th></tr>
 * <tr><td>{@code job}</td><td>a description of the job</td><td>the coordinator, once</td></tr>
 * <tr><td>{@code state}</td><td>a {@link State}</td><td>the coordinator</td></tr>
 * <tr><td>{@code launchers}</td><td>a count</td><td>each launcher that joins; the new value is its
 * number N</td></tr>
 * <tr><td>{@code launcher/N}</td><td>a {@link Launcher}</td><td>launcher N</td></tr>
 * <tr><td>{@code beat/N}</td><td>a count</td><td>launcher N, at each heartbeat</td></tr>
 * <tr><td>{@code store/ROUND}</td><td>the address of the ranks' store</td><td>the first launcher
 * of the round</td></tr>
 * </table>
 */
final class ElasticRecords {

    static final String JOB = "job";
    static final String STATE = "state";
    static final String LAUNCHERS = "launchers";

    private ElasticRecords() {}

    /** The launchers' part of a store; each run has its own. */
    static Store of(Store store, String runId) {
        return new PrefixStore("jccl/elastic/" + runId, store);
    }

    static String launcher(int number) {
        return "launcher/" + number;
    }

    static String beat(int number) {
        return "beat/" + number;
    }

    static String ranksStore(int round) {
        return "store/" + round;
    }

    /**
     * How a node's ranks, a round, or the whole job ended.
     *
     * @param exitCode 0 after success; negative as long as it has not ended
     * @param last whether another start would not help
     * @param why in words, possibly several lines
     */
    record Outcome(int exitCode, boolean last, String why) {

        static final Outcome WELL = new Outcome(0, true, "");

        /** The outcome of what has not ended, with the reason for the end before. */
        static Outcome unknown(String why) {
            return new Outcome(-1, false, why);
        }

        boolean isKnown() {
            return exitCode >= 0;
        }

        boolean well() {
            return exitCode == 0;
        }
    }

    /**
     * What a launcher says.
     *
     * @param host its host, for messages
     * @param attempt the number of the next round in which it can take part, as far as it knows
     * @param restarts how many starts had failed when it joined, as far as it knows
     * @param left whether it takes no part any more
     * @param ended how its ranks of the round before {@code attempt} ended; once it is unknown
     *     again, none of them is left, and the launcher can take part in the next round
     */
    record Launcher(String host, int attempt, int restarts, boolean left, Outcome ended) {

        byte[] encode() {
            return lines(
                    host, attempt, restarts, left, ended.exitCode(), ended.last(), ended.why());
        }

        static Launcher decode(String text) {
            return parse(
                    text,
                    7,
                    f -> new Launcher(f[0], number(f[1]), number(f[2]), is(f[3]), outcome(f, 4)));
        }
    }

    /**
     * How far the job has come.
     *
     * @param attempt the number of the last round, which is a start of all ranks; -1 before the
     *     first
     * @param restarts how many starts have failed
     * @param nodes numbers of the launchers that take part in the round, by node rank; empty if the
     *     round is over
     * @param ended how the job ended; before that, why the last round did
     */
    record State(int attempt, int restarts, List<Integer> nodes, Outcome ended) {

        static final State FIRST = new State(-1, 0, List.of(), Outcome.unknown(""));

        boolean isRunning() {
            return !nodes.isEmpty();
        }

        byte[] encode() {
            String numbers = nodes.stream().map(String::valueOf).collect(Collectors.joining(","));
            return lines(attempt, restarts, numbers, ended.exitCode(), ended.last(), ended.why());
        }

        static State decode(String text) {
            return parse(
                    text,
                    6,
                    f -> new State(number(f[0]), number(f[1]), numbers(f[2]), outcome(f, 3)));
        }
    }

    private static byte[] lines(Object... fields) {
        return StoredText.bytes(
                Arrays.stream(fields).map(String::valueOf).collect(Collectors.joining("\n")));
    }

    /** The last field may have lines of its own. */
    private static <T> T parse(String text, int fields, Function<String[], T> read) {
        String[] found = text.split("\n", fields);
        try {
            if (found.length == fields) {
                return read.apply(found);
            }
        } catch (NumberFormatException e) {
            throw notOurs(e);
        }
        throw notOurs(null);
    }

    private static StoreException notOurs(Exception cause) {
        return new StoreException(
                "the launchers' store has records that no launcher of this version wrote: look at"
                        + " what else uses this port and run id",
                cause);
    }

    private static Outcome outcome(String[] fields, int first) {
        return new Outcome(number(fields[first]), is(fields[first + 1]), fields[first + 2]);
    }

    private static boolean is(String text) {
        return Boolean.parseBoolean(text);
    }

    private static int number(String text) {
        return Integer.parseInt(text);
    }

    private static List<Integer> numbers(String text) {
        return text.isEmpty()
                ? List.of()
                : Arrays.stream(text.split(",")).map(ElasticRecords::number).toList();
    }
}
