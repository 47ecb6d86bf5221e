package org.jccl.hccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.testing.DeviceTensors.floats;

import com.sun.jna.Function;
import com.sun.jna.NativeLibrary;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CyclicBarrier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Stream;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.jccl.Work;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

/**
 * Which of HCCL's functions each call becomes on the device that the mock plays, in this run. The
 * mock has its own table of the manual.
 */
@Isolated("asks which functions the process has called")
final class ChipTest {

    private static final Path GUIDE = Path.of("..", "docs", "backends", "hccl.md");
    private static final String BEGIN = "<!-- calls: written by ChipTest -->\n";
    private static final String END = "<!-- end of calls -->\n";

    /** Set to have this run's column written into the guide. */
    private static final String WRITE = "jccl.guide.write";

    private static final int RANKS = 3;

    private static final List<Chip> COLUMNS =
            List.of(Chip.ASCEND_950, Chip.ASCEND_910_93, Chip.ASCEND_910B, Chip.ASCEND_910);

    private static final List<String> FUNCTIONS =
            List.of(
                    "HcclAllGather",
                    "HcclAllGatherV",
                    "HcclAllReduce",
                    "HcclAlltoAll",
                    "HcclAlltoAllV",
                    "HcclAlltoAllVC",
                    "HcclBatchSendRecv",
                    "HcclBroadcast",
                    "HcclCreateSubCommConfig",
                    "HcclRecv",
                    "HcclReduce",
                    "HcclReduceScatter",
                    "HcclReduceScatterV",
                    "HcclScatter",
                    "HcclSend");

    private static Function mock(String name) {
        return NativeLibrary.getInstance(System.getProperty("org.jccl.hccl.library"))
                .getFunction(name);
    }

    private static boolean mockHas(String function, int ranks) {
        return mock("mockHcclSupports").invokeInt(new Object[] {function, ranks}) == 0;
    }

    @Test
    void bindingAndMockReadTheManualAlike() {
        Chip chip = HcclLibraries.get().chip();
        for (String function : FUNCTIONS) {
            assertThat(chip.has(function)).as(function).isEqualTo(mockHas(function, 2));
        }
    }

    /** An operation of a table's row; the works are awaited. */
    private interface Operation {
        void issue(Rank rank) throws Exception;
    }

    private record Rank(ProcessGroup group, Tensor one, Tensor all, Tensor other) {

        List<Tensor> uneven(Tensor whole) {
            return List.of(whole.slice(0, 1), whole.slice(1, 1), whole.slice(2, 2));
        }

        Tensor own(Tensor whole) {
            return uneven(whole).get(group.rank());
        }

        List<Tensor> ofRoot(Tensor whole) {
            return group.rank() > 0
                    ? List.of()
                    : IntStream.range(0, RANKS).mapToObj(i -> whole.slice(i, 1)).toList();
        }
    }

    private static Map<String, Operation> operations() {
        ReduceOp sum = ReduceOp.SUM;
        Map<String, Operation> rows = new LinkedHashMap<>();
        rows.put("broadcast", r -> r.group.broadcast(r.one, 0).await());
        rows.put("allReduce", r -> r.group.allReduce(r.one, sum).await());
        rows.put("reduce", r -> r.group.reduce(r.one, 0, sum).await());
        rows.put("allGather", r -> r.group.allGatherSingle(r.all.slice(0, RANKS), r.one).await());
        rows.put(
                "allGather, parts of different sizes",
                r -> r.group.allGather(r.uneven(r.all), r.own(r.other)).await());
        rows.put(
                "reduceScatter",
                r -> r.group.reduceScatterSingle(r.one, r.all.slice(0, RANKS), sum).await());
        rows.put(
                "reduceScatter, parts of different sizes",
                r -> r.group.reduceScatter(r.own(r.other), r.uneven(r.all), sum).await());
        rows.put("gather", r -> r.group.gather(r.ofRoot(r.all), r.one, 0).await());
        rows.put("scatter", r -> r.group.scatter(r.one, r.ofRoot(r.all), 0).await());
        rows.put(
                "allToAll",
                r ->
                        r.group
                                .allToAllSingle(r.all.slice(0, RANKS), r.other.slice(0, RANKS))
                                .await());
        rows.put(
                "allToAll with splits",
                r -> {
                    // Everything goes to rank 0, nothing from rank 2.
                    long mine = r.group.rank() == 2 ? 0 : 1;
                    long[] got = r.group.rank() == 0 ? new long[] {1, 1, 0} : new long[RANKS];
                    r.group
                            .allToAllSingle(
                                    r.all.slice(0, Arrays.stream(got).sum()),
                                    r.other.slice(0, mine),
                                    got,
                                    new long[] {mine, 0, 0})
                            .await();
                });
        rows.put(
                "send and recv",
                r -> {
                    if (r.group.rank() == 0) {
                        r.group.send(r.one, 1).await();
                    } else {
                        (r.group.rank() == 1 ? r.group.recv(r.one, 0) : noMessage(r)).await();
                    }
                });
        rows.put(
                "batch of messages",
                r ->
                        r.group
                                .batch()
                                .send(r.one, (r.group.rank() + 1) % RANKS, 0)
                                .recv(r.all.slice(0, 1), (r.group.rank() + 2) % RANKS, 0)
                                .issue()
                                .forEach(Work::await));
        rows.put("barrier", r -> r.group.barrier().await());
        rows.put("group of ascending ranks", r -> r.group.split(0, 0).orElseThrow().close());
        rows.put(
                "group in another order",
                r -> r.group.split(0, -r.group.rank()).orElseThrow().close());
        return rows;
    }

    /** Refused alike, without a peer. */
    private static Work noMessage(Rank rank) {
        return rank.group.send(rank.one.slice(0, 0), 0);
    }

    private static String called() {
        byte[] text = new byte[1000];
        mock("mockHcclCalled").invokeLong(new Object[] {text, (long) text.length});
        return new String(text, StandardCharsets.US_ASCII).trim();
    }

    /** A row's cell: the functions that were called, or that the call was refused. */
    private static String cell(List<String> refusals) {
        String functions =
                Arrays.stream(called().split(" "))
                        .map(name -> name.replaceFirst("^Hccl", ""))
                        .collect(Collectors.joining(", "));
        if (refusals.isEmpty()) {
            return functions;
        }
        assertThat(functions).as("called although it was refused").isEmpty();
        return "refused";
    }

    /** Each row in a world of its own, which a refusal ends. */
    private static Map<String, String> column() {
        Map<String, String> cells = new LinkedHashMap<>();
        operations().forEach((name, operation) -> cells.put(name, called(operation)));
        return cells;
    }

    private static String called(Operation operation) {
        CyclicBarrier together = new CyclicBarrier(RANKS);
        List<String> refusals = Collections.synchronizedList(new ArrayList<>());
        List<String> cell = new ArrayList<>();
        World.run(
                RANKS,
                (group, device) -> {
                    try (Tensor one = floats(device, 1);
                            Tensor all = floats(device, 1, 2, 3, 4);
                            Tensor other = floats(device, 1, 2, 3, 4)) {
                        if (together.await() == 0) {
                            called();
                        }
                        together.await();
                        try {
                            operation.issue(new Rank(group, one, all, other));
                            Stream.current(device).synchronize();
                        } catch (UsageException e) {
                            refusals.add(e.getMessage());
                        }
                        if (together.await() == 0) {
                            cell.add(cell(refusals));
                        }
                    }
                });
        return cell.get(0);
    }

    @Test
    void guideHasTheCallsOfThisDevice() throws Exception {
        Map<String, String> expected = column();
        int index = COLUMNS.indexOf(HcclLibraries.get().chip()) + 1;
        String guide = Files.readString(GUIDE);
        assertThat(guide).contains(BEGIN, END);
        int begin = guide.indexOf(BEGIN) + BEGIN.length();
        int end = guide.indexOf(END);
        List<List<String>> table = parse(guide.substring(begin, end));
        if (Boolean.getBoolean(WRITE)) {
            List<List<String>> rows = new ArrayList<>(table.subList(0, 2));
            expected.forEach((row, cell) -> rows.add(withCell(table, row, index, cell)));
            Files.writeString(GUIDE, guide.substring(0, begin) + text(rows) + guide.substring(end));
            return;
        }
        Map<String, String> written = new LinkedHashMap<>();
        table.stream().skip(2).forEach(row -> written.put(row.get(0), row.get(index)));
        assertThat(written)
                .as("column %s of %s; -D%s=true writes it", table.get(0).get(index), GUIDE, WRITE)
                .isEqualTo(expected);
    }

    private static List<List<String>> parse(String table) {
        return table.lines()
                .map(line -> line.substring(1, line.length() - 1).split("[|]", -1))
                .map(cells -> Arrays.stream(cells).map(String::strip).toList())
                .toList();
    }

    private static List<String> withCell(
            List<List<String>> table, String row, int index, String cell) {
        List<String> cells =
                new ArrayList<>(
                        table.stream()
                                .filter(old -> old.get(0).equals(row))
                                .findFirst()
                                .orElse(List.of(row, "", "", "", "")));
        cells.set(index, cell);
        return cells;
    }

    private static String text(List<List<String>> table) {
        return table.stream()
                .map(row -> row.stream().map(cell -> ' ' + cell + ' ').toList())
                .map(row -> '|' + String.join("|", row) + "|\n")
                .collect(Collectors.joining())
                .replaceAll("\\| --- (?=\\|)", "|---")
                .replaceAll("\\|---\\| --- ", "|---|---");
    }
}
