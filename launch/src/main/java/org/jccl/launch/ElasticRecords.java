package org.jccl.launch;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jccl.Store;
import org.jccl.StoreException;
import org.jccl.store.PrefixStore;

/**
 * The records that the launchers of an elastic job exchange in their store, each as lines of text.
 *
 * <p>Launchers write {@code join/NODE}, {@code beat/NODE}, {@code ended/ROUND/NODE}, {@code
 * stopped/ROUND/NODE}, {@code left/NODE} and {@code goodbye/NODE}, the first of a round {@code
 * store/ROUND}; the coordinator writes {@code coordinator}, {@code refused/NODE}, {@code
 * round/ROUND}, {@code over/ROUND} and {@code end}. {@code NODE} is the number that a launcher got
 * when it joined.
 */
final class ElasticRecords {

    static final String COORDINATOR = "coordinator";
    static final String TICKETS = "tickets";
    static final String ROUNDS = "rounds";
    static final String END = "end";

    private ElasticRecords() {}

    /** The launchers' part of a store; each run has its own. */
    static Store of(Store store, String runId) {
        return new PrefixStore("jccl/elastic/" + runId, store);
    }

    static String key(String what, int... numbers) {
        return Arrays.stream(numbers)
                .mapToObj(Integer::toString)
                .collect(Collectors.joining("/", what + "/", ""));
    }

    /**
     * A launcher that joins.
     *
     * @param host its host, for messages
     * @param job a description of its ranks, which is equal on all launchers
     * @param attempt the number of the next round, as far as it knows
     * @param restarts how many starts have failed, as far as it knows
     */
    record Joined(String host, String job, int attempt, int restarts) {

        byte[] encode() {
            return lines(attempt, restarts, host, job);
        }

        static Joined decode(byte[] bytes) {
            return parse(bytes, 4, f -> new Joined(f[2], f[3], number(f[0]), number(f[1])));
        }
    }

    /**
     * A start of all ranks.
     *
     * @param attempt its number
     * @param restarts how many starts have failed
     * @param nodes numbers of the launchers that take part, by node rank
     */
    record Round(int attempt, int restarts, List<Integer> nodes) {

        byte[] encode() {
            String numbers = nodes.stream().map(String::valueOf).collect(Collectors.joining(","));
            return lines(attempt, restarts, numbers);
        }

        static Round decode(byte[] bytes) {
            return parse(
                    bytes,
                    3,
                    f ->
                            new Round(
                                    number(f[0]),
                                    number(f[1]),
                                    Arrays.stream(f[2].split(","))
                                            .map(ElasticRecords::number)
                                            .toList()));
        }
    }

    /**
     * The address of the ranks' store of a round.
     *
     * @param host its name or address for the other nodes
     * @param port of the store
     */
    record StoreAddress(String host, int port) {

        byte[] encode() {
            return lines(port, host);
        }

        static StoreAddress decode(byte[] bytes) {
            return parse(bytes, 2, f -> new StoreAddress(f[1], number(f[0])));
        }
    }

    /**
     * How a node's ranks, or the whole job, ended.
     *
     * @param exitCode 0 after success
     * @param last whether another start would not help
     * @param why in words
     */
    record Ended(int exitCode, boolean last, String why) {

        static final Ended WELL = new Ended(0, true, "");

        boolean well() {
            return exitCode == 0;
        }

        byte[] encode() {
            return lines(exitCode, last ? 1 : 0, why);
        }

        static Ended decode(byte[] bytes) {
            return parse(bytes, 3, f -> new Ended(number(f[0]), number(f[1]) == 1, f[2]));
        }
    }

    static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    static String text(byte[] bytes) {
        return new String(bytes, StandardCharsets.UTF_8);
    }

    private static byte[] lines(Object... fields) {
        return bytes(Arrays.stream(fields).map(String::valueOf).collect(Collectors.joining("\n")));
    }

    /** The last field may have lines of its own. */
    private static <T> T parse(byte[] bytes, int fields, Function<String[], T> read) {
        String[] found = text(bytes).split("\n", fields);
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

    private static int number(String text) {
        return Integer.parseInt(text);
    }
}
