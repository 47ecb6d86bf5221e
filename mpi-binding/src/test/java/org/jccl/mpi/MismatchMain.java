package org.jccl.mpi;

import static org.jccl.testing.Patience.enough;
import static org.jccl.testing.Patience.expires;

import java.time.Duration;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.JcclException;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;

/**
 * One rank of a job in which rank 0 makes another call than the others. It prints for each case
 * what the rank got: an exception, or the result of its own call, or other data.
 */
final class MismatchMain {

    /** One below the length from which on Open MPI's ranks compare, and one above it. */
    private static final int[] COUNTS = {100, 100_000};

    private static final int ROOT = 1;

    /** A call; rank 0 makes it in another way. Returns whether the result is that of the call. */
    private interface Call {
        boolean run(ProcessGroup group, int count, boolean odd);
    }

    /** By the operation that is changed. */
    static final Map<String, Map<String, Call>> CASES = cases();

    private MismatchMain() {}

    private static Map<String, Map<String, Call>> cases() {
        Map<String, Map<String, Call>> all = new LinkedHashMap<>();
        Map<String, Call> allReduce = new LinkedHashMap<>();
        allReduce.put("count", (g, n, odd) -> sum(g, odd ? n + 1 : n, DataType.INT32));
        allReduce.put("type", (g, n, odd) -> sum(g, n, odd ? DataType.FLOAT32 : DataType.INT32));
        allReduce.put(
                "operation",
                (g, n, odd) -> {
                    Tensor tensor = filled(DataType.INT32, n, g.rank() + 1);
                    g.allReduce(tensor, odd ? ReduceOp.MAX : ReduceOp.SUM).await();
                    return has(tensor, 0, n, odd ? g.size() : sumOf(g));
                });
        all.put("allReduce", allReduce);
        Map<String, Call> broadcast = new LinkedHashMap<>();
        broadcast.put("count", (g, n, odd) -> sent(g, odd ? n + 1 : n, DataType.INT32, ROOT));
        broadcast.put(
                "type", (g, n, odd) -> sent(g, n, odd ? DataType.FLOAT32 : DataType.INT32, ROOT));
        broadcast.put("root", (g, n, odd) -> sent(g, n, DataType.INT32, odd ? 0 : ROOT));
        all.put("broadcast", broadcast);
        Map<String, Call> reduce = new LinkedHashMap<>();
        reduce.put("count", (g, n, odd) -> reduced(g, odd ? n + 1 : n, ROOT, ReduceOp.SUM));
        reduce.put("root", (g, n, odd) -> reduced(g, n, odd ? 0 : ROOT, ReduceOp.SUM));
        reduce.put("operation", (g, n, odd) -> reduced(g, n, 0, odd ? ReduceOp.MAX : ReduceOp.SUM));
        all.put("reduce", reduce);
        Map<String, Call> gathers = new LinkedHashMap<>();
        gathers.put(
                "count of allGather",
                (g, n, odd) -> {
                    int each = odd ? n + 1 : n;
                    Tensor out = filled(DataType.INT32, each * g.size(), 0);
                    g.allGatherSingle(out, filled(DataType.INT32, each, g.rank() + 1)).await();
                    return hasParts(out, each);
                });
        gathers.put(
                "count of allToAll",
                (g, n, odd) -> {
                    int each = odd ? n + 1 : n;
                    Tensor out = filled(DataType.INT32, each * g.size(), 0);
                    Tensor in = filled(DataType.INT32, each * g.size(), g.rank() + 1);
                    g.allToAllSingle(out, in).await();
                    return hasParts(out, each);
                });
        gathers.put(
                "count of reduceScatter",
                (g, n, odd) -> scattered(g, odd ? n + 1 : n, ReduceOp.SUM, sumOf(g)));
        gathers.put(
                "operation of reduceScatter",
                (g, n, odd) ->
                        odd
                                ? scattered(g, n, ReduceOp.MAX, g.size())
                                : scattered(g, n, ReduceOp.SUM, sumOf(g)));
        all.put("gathers", gathers);
        Map<String, Call> kinds = new LinkedHashMap<>();
        kinds.put(
                "barrier for allReduce",
                (g, n, odd) -> {
                    if (!odd) {
                        return sum(g, n, DataType.INT32);
                    }
                    g.barrier().await();
                    return true;
                });
        kinds.put(
                "broadcast for allReduce",
                (g, n, odd) -> odd ? sent(g, n, DataType.INT32, 0) : sum(g, n, DataType.INT32));
        kinds.put(
                "broadcast left out before allReduce",
                (g, n, odd) ->
                        (odd || sent(g, n, DataType.INT32, ROOT)) & sum(g, n, DataType.INT32));
        all.put("kinds", kinds);
        return all;
    }

    private static int sumOf(ProcessGroup group) {
        return group.size() * (group.size() + 1) / 2;
    }

    private static boolean sum(ProcessGroup group, int count, DataType type) {
        Tensor tensor = filled(type, count, group.rank() + 1);
        group.allReduce(tensor, ReduceOp.SUM).await();
        return has(tensor, 0, count, sumOf(group));
    }

    private static boolean sent(ProcessGroup group, int count, DataType type, int root) {
        Tensor tensor = filled(type, count, group.rank() + 1);
        group.broadcast(tensor, root).await();
        return has(tensor, 0, count, root + 1);
    }

    private static boolean reduced(ProcessGroup group, int count, int root, ReduceOp op) {
        Tensor tensor = filled(DataType.INT32, count, group.rank() + 1);
        group.reduce(tensor, root, op).await();
        int expected = op == ReduceOp.MAX ? group.size() : sumOf(group);
        return group.rank() != root || has(tensor, 0, count, expected);
    }

    private static boolean scattered(ProcessGroup group, int count, ReduceOp op, int expected) {
        Tensor out = filled(DataType.INT32, count, 0);
        Tensor in = filled(DataType.INT32, count * group.size(), group.rank() + 1);
        group.reduceScatterSingle(out, in, op).await();
        return has(out, 0, count, expected);
    }

    private static Tensor filled(DataType type, int count, int value) {
        Tensor tensor = Tensor.allocate(Device.CPU, type, count);
        if (type == DataType.FLOAT32) {
            float[] values = new float[count];
            Arrays.fill(values, value);
            tensor.copyFrom(values);
        } else {
            tensor.copyFrom(IntStream.generate(() -> value).limit(count).toArray());
        }
        return tensor;
    }

    private static boolean hasParts(Tensor tensor, int each) {
        return IntStream.range(0, (int) tensor.count() / each)
                .allMatch(part -> has(tensor, part * each, each, part + 1));
    }

    private static boolean has(Tensor tensor, int begin, int count, int expected) {
        int size = (int) tensor.count();
        if (tensor.dataType() == DataType.FLOAT32) {
            float[] found = tensor.copyTo(new float[size]);
            return IntStream.range(begin, begin + count).allMatch(i -> found[i] == expected);
        }
        int[] found = tensor.copyTo(new int[size]);
        return IntStream.range(begin, begin + count).allMatch(i -> found[i] == expected);
    }

    public static void main(String[] arguments) {
        ProcessGroup.builder().backend("mpi").build().close();
        try (ProcessGroup world =
                ProcessGroup.builder()
                        .backend("mpi")
                        .timeout(expires(Duration.ofSeconds(5)))
                        .build()) {
            List<Integer> ranks = IntStream.range(0, world.size()).boxed().toList();
            CASES.get(arguments[0])
                    .forEach(
                            (name, call) -> {
                                for (int count : COUNTS) {
                                    System.out.printf(
                                            "case %s of %d: %d %s%n",
                                            name,
                                            count,
                                            world.rank(),
                                            outcome(world, ranks, call, count));
                                    world.monitoredBarrier(enough(Duration.ofSeconds(60)), true);
                                }
                            });
            // The first to exit ends the job, since MPI still has operations.
            LockSupport.parkNanos(expires(Duration.ofSeconds(1)).toNanos());
        }
    }

    private static String outcome(ProcessGroup world, List<Integer> ranks, Call call, int count) {
        try (ProcessGroup group = world.newGroup(ranks).orElseThrow()) {
            return call.run(group, count, world.rank() == 0) ? "right" : "WRONG";
        } catch (JcclException e) {
            return e.getClass().getSimpleName();
        }
    }
}
