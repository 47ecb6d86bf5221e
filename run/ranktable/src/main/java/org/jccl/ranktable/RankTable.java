package org.jccl.ranktable;

import static java.util.stream.Collectors.groupingBy;
import static java.util.stream.Collectors.joining;
import static java.util.stream.Collectors.mapping;
import static java.util.stream.Collectors.toUnmodifiableList;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Pattern;
import org.jccl.FailureContext;
import org.jccl.UsageException;
import org.jccl.internal.checks.Counted;
import org.jccl.internal.checks.Require;
import org.jccl.ranktable.json.Json;
import org.jccl.ranktable.json.JsonReader;
import org.jccl.ranktable.json.JsonWriter;

/**
 * Which device of which node each rank of a job uses: the files of SCCL and HCCL. The format is
 * found out from the content. A table that exists is valid: ranks go from 0 to {@link #size()} - 1,
 * and no two ranks share a device. Immutable.
 *
 * <p>Device numbers are those of the table, which are physical. A process that sees a part of the
 * devices, as with {@code ASCEND_RT_VISIBLE_DEVICES}, may have to name them in another way.
 */
public final class RankTable {

    /** The variable that names the file. */
    public static final String VARIABLE = "RANK_TABLE_FILE";

    private static final Pattern INITIALIZING =
            Pattern.compile("\"status\"\\s*:\\s*\"initializing\"");

    private static final Duration COMPLETION_POLL = Duration.ofMillis(500);

    /** UTF-8 has at most three bytes for each UTF-16 character. */
    private static final int MAX_BYTES = 3 * JsonReader.MAX_LENGTH;

    private final RankTableFormat format;
    private final List<RankEntry> entries;
    private final List<List<Integer>> nodes;
    private final Json json;
    private final List<Faults.Refusal> refusals;

    RankTable(
            RankTableFormat format,
            List<RankEntry> entries,
            Json json,
            List<Faults.Refusal> refusals) {
        this.format = format;
        this.entries = List.copyOf(entries);
        this.json = json;
        this.refusals = List.copyOf(refusals);
        nodes =
                List.copyOf(
                        this.entries.stream()
                                .sorted(Comparator.comparingInt(RankEntry::localRank))
                                .collect(
                                        groupingBy(
                                                RankEntry::node,
                                                TreeMap::new,
                                                mapping(RankEntry::rank, toUnmodifiableList())))
                                .values());
    }

    /**
     * Reads a file.
     *
     * @param file a table in UTF-8
     * @return the table
     * @throws RankTableException if the file cannot be read or the table is not valid; it lists all
     *     that is wrong
     * @throws UsageException if the file is null
     */
    public static RankTable read(Path file) {
        return read(Require.nonNull(file, "file"), "rank table " + file);
    }

    private static RankTable read(Path file, String name) {
        byte[] bytes;
        try (InputStream in = Files.newInputStream(file)) {
            bytes = in.readNBytes(MAX_BYTES + 1);
        } catch (IOException e) {
            throw new RankTableException(name, "cannot be read: " + e, e);
        }
        try {
            String text =
                    StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
            if (INITIALIZING.matcher(text).find()) {
                throw new RankTableException(
                        name,
                        "has the status \"initializing\": the operator has not completed it; see"
                                + " the operator's log, and check that every pod has its devices",
                        null);
            }
            return TableReader.read(name, text);
        } catch (CharacterCodingException e) {
            throw new RankTableException(name, "is not in UTF-8: write it again in UTF-8", e);
        }
    }

    /**
     * Waits while a table is still being made: Ascend's operator mounts {@code hccl.json} with the
     * status {@code initializing} and completes it when all pods have their devices. Returns at
     * once when the file has any other content or cannot be read, which {@link #read} explains.
     * Interrupting the thread ends the wait, and leaves the flag set.
     *
     * @param file a table
     * @param timeout how long at most
     * @return false if the table is still not completed
     * @throws UsageException if an argument is null, or the timeout negative
     */
    public static boolean awaitCompleted(Path file, Duration timeout) {
        Require.nonNull(file, "file");
        if (Require.nonNull(timeout, "timeout").isNegative()) {
            throw new UsageException(
                    FailureContext.NONE, "the timeout must not be negative, got " + timeout);
        }
        long start = System.nanoTime();
        boolean logged = false;
        while (isInitializing(file)) {
            Duration left = timeout.minusNanos(System.nanoTime() - start);
            if (left.isNegative() || left.isZero() || Thread.currentThread().isInterrupted()) {
                return false;
            }
            if (!logged) {
                System.getLogger(RankTable.class.getName())
                        .log(
                                System.Logger.Level.INFO,
                                "waiting for rank table {0}, which is initializing",
                                file);
                logged = true;
            }
            LockSupport.parkNanos(
                    (left.compareTo(COMPLETION_POLL) < 0 ? left : COMPLETION_POLL).toNanos());
        }
        return true;
    }

    private static boolean isInitializing(Path file) {
        try (InputStream in = Files.newInputStream(file)) {
            byte[] bytes = in.readNBytes(MAX_BYTES);
            // The operator empties a file before it writes it again.
            return bytes.length == 0
                    || INITIALIZING.matcher(new String(bytes, StandardCharsets.ISO_8859_1)).find();
        } catch (IOException e) {
            return false;
        }
    }

    /**
     * Reads a text.
     *
     * @param json a table
     * @return the table
     * @throws RankTableException if the table is not valid; it lists all that is wrong
     * @throws UsageException if the text is null
     */
    public static RankTable parse(String json) {
        return TableReader.read("rank table", Require.nonNull(json, "json"));
    }

    /**
     * Reads the file that {@code RANK_TABLE_FILE} names.
     *
     * @param environment the process's variables, usually {@link System#getenv()}
     * @return the table, or empty if the variable is not set or blank
     * @throws RankTableException if the file cannot be read or the table is not valid
     * @throws UsageException if the environment is null
     */
    public static Optional<RankTable> fromEnvironment(Map<String, String> environment) {
        String file = Require.nonNull(environment, "environment").get(VARIABLE);
        if (file == null || file.isBlank()) {
            return Optional.empty();
        }
        String name = "rank table " + file + " of " + VARIABLE;
        try {
            return Optional.of(read(Path.of(file), name));
        } catch (InvalidPathException e) {
            throw new RankTableException(name, "cannot be read: " + e, e);
        }
    }

    /**
     * Begins a new table.
     *
     * @param format a {@linkplain RankTableFormat#isWritable() writable} format
     * @return a builder without nodes
     * @throws UsageException if the format is null or an old one
     */
    public static RankTableBuilder builder(RankTableFormat format) {
        return new RankTableBuilder(format);
    }

    /**
     * The same ranks and devices in another form. What only the old form has is left out, as are
     * the addresses of HCCL 2.0, which belong to layers and ports.
     *
     * @param other a {@linkplain RankTableFormat#isWritable() writable} format
     * @return a new table, or this one when it has that form already
     * @throws UsageException if the format is null or an old one
     * @throws RankTableException if the other form needs what this table does not have, such as
     *     names of nodes
     */
    public RankTable convertTo(RankTableFormat other) {
        return other == format ? this : RankTableBuilder.convert(this, other);
    }

    /**
     * How the table is written.
     *
     * @return the format
     */
    public RankTableFormat format() {
        return format;
    }

    /**
     * Whether HCCL forms a world by this table. It refuses a {@code group_list} without a {@code
     * deploy_mode}, as ModelArts writes it, because it takes the number of the rank for the name of
     * a pod. Such a table gives ranks and devices only.
     *
     * @return false for a table of SCCL, too
     */
    public boolean formsWorlds() {
        return switch (format) {
            case SCCL_1_0, SCCL_SERVER_LIST -> false;
            case HCCL_1_0, HCCL_1_2, HCCL_2_0 -> true;
            case HCCL_GROUP_LIST ->
                    json instanceof Json.Obj table && table.fields().containsKey("deploy_mode");
        };
    }

    /**
     * Why HCCL refuses the table on a chip, by the rules of its version of August 2026. Other
     * versions may have fewer.
     *
     * @param chip the chip of all ranks
     * @return the faults; none if HCCL takes the table there
     * @throws UsageException if the chip is null
     */
    public List<RankTableException.Fault> faultsOn(AscendChip chip) {
        Require.nonNull(chip, "chip");
        String wanted = chip == AscendChip.ASCEND_950 ? "HCCL 2.0 only" : "HCCL 1.0 or 1.2";
        boolean layers = format == RankTableFormat.HCCL_2_0;
        if (format.isSccl() || layers != (chip == AscendChip.ASCEND_950)) {
            return List.of(
                    new RankTableException.Fault(
                            "$",
                            1,
                            1,
                            "is of the form " + format + ": " + chip + " takes " + wanted));
        }
        return refusals.stream()
                .filter(refusal -> refusal.chips().contains(chip))
                .map(Faults.Refusal::fault)
                .toList();
    }

    /**
     * What only some chips refuse, and what HCCL takes but is probably a mistake. A table that all
     * chips refuse does not exist.
     *
     * @return the faults; the message of each says who refuses the table
     */
    public List<RankTableException.Fault> warnings() {
        return refusals.stream().map(RankTable::warning).toList();
    }

    private static RankTableException.Fault warning(Faults.Refusal refusal) {
        RankTableException.Fault fault = refusal.fault();
        String who =
                refusal.chips().isEmpty()
                        ? "HCCL takes it"
                        : refusal.chips().stream()
                                        .sorted()
                                        .map(AscendChip::toString)
                                        .collect(joining(" and "))
                                + (refusal.chips().size() == 1 ? " refuses" : " refuse")
                                + " the table";
        return new RankTableException.Fault(
                fault.path(), fault.line(), fault.column(), fault.message() + " (" + who + ")");
    }

    /**
     * Number of ranks.
     *
     * @return the world size, at least 1
     */
    public int size() {
        return entries.size();
    }

    /**
     * Number of nodes.
     *
     * @return at least 1
     */
    public int nodeCount() {
        return nodes.size();
    }

    /**
     * All ranks.
     *
     * @return the ranks, in their order
     */
    public List<RankEntry> entries() {
        return entries;
    }

    /**
     * All that the table says of a rank.
     *
     * @param rank rank in the world
     * @return the rank's entry
     * @throws UsageException if the table has no such rank
     */
    public RankEntry entry(int rank) {
        if (rank < 0 || rank >= entries.size()) {
            throw new UsageException(
                    FailureContext.NONE,
                    "rank "
                            + rank
                            + " is not in the rank table: it has the ranks 0 to "
                            + (entries.size() - 1));
        }
        return entries.get(rank);
    }

    /**
     * The device of a rank.
     *
     * @param rank rank in the world
     * @return physical number of the device on the rank's node
     * @throws UsageException if the table has no such rank
     */
    public int device(int rank) {
        return entry(rank).device();
    }

    /**
     * The rank of a rank on its node.
     *
     * @param rank rank in the world
     * @return rank among those of the node, from 0
     * @throws UsageException if the table has no such rank
     */
    public int localRank(int rank) {
        return entry(rank).localRank();
    }

    /**
     * The node of a rank.
     *
     * @param rank rank in the world
     * @return the node, from 0 in the order of the table
     * @throws UsageException if the table has no such rank
     */
    public int node(int rank) {
        return entry(rank).node();
    }

    /**
     * The ranks of a node.
     *
     * @param node the node, from 0
     * @return its ranks in the order of their local ranks
     * @throws UsageException if the table has no such node
     */
    public List<Integer> ranksOf(int node) {
        if (node < 0 || node >= nodes.size()) {
            throw new UsageException(
                    FailureContext.NONE,
                    "node "
                            + node
                            + " is not in the rank table: it has the nodes 0 to "
                            + (nodes.size() - 1));
        }
        return nodes.get(node);
    }

    /**
     * The devices of the whole world, which SCCL calls the chip map.
     *
     * @return one device for each rank, in the order of ranks
     */
    public int[] chipMap() {
        return entries.stream().mapToInt(RankEntry::device).toArray();
    }

    /**
     * The devices of a group, which SCCL calls its chip map.
     *
     * @param worldRanks the group's members as ranks of the world, in the group's order, as {@link
     *     org.jccl.ProcessGroup#worldRanks()} has them
     * @return one device for each rank of the group, in the order of its ranks
     * @throws UsageException if the list or a rank is null, or the table lacks one of the ranks
     */
    public int[] chipMap(List<Integer> worldRanks) {
        return Require.nonNull(worldRanks, "worldRanks").stream()
                .mapToInt(rank -> device(Require.nonNull(rank, "a rank of worldRanks")))
                .toArray();
    }

    /**
     * The table as JSON, with every field it was read with, laid out as {@code
     * tpu_gen_sccl_rank_table} does: indented by four spaces and in ASCII, without a newline at the
     * end. Reading it gives an equal table.
     *
     * @return the text
     */
    public String toJson() {
        return JsonWriter.write(json);
    }

    /** Equal when format, nodes, devices and ranks are; fields that say more do not count. */
    @Override
    public boolean equals(Object other) {
        return other instanceof RankTable table
                && format == table.format
                && entries.equals(table.entries);
    }

    @Override
    public int hashCode() {
        return Objects.hash(format, entries);
    }

    /** The format and how many ranks and nodes there are. */
    @Override
    public String toString() {
        return format
                + ", "
                + Counted.text(size(), "rank")
                + " on "
                + Counted.text(nodeCount(), "node");
    }
}
