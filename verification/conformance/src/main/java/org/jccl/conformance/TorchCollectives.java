package org.jccl.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.TreeSet;
import java.util.function.IntFunction;
import java.util.function.IntUnaryOperator;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.ObjectCollectives;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.Work;

/** What {@code examples/pytorch-interop/collectives.py} does, as the Java ranks call it. */
public final class TorchCollectives {

    private static final DataType FLOAT = DataType.FLOAT32;
    private static final List<DataType> NUMBERS =
            List.of(
                    FLOAT,
                    DataType.FLOAT64,
                    DataType.FLOAT16,
                    DataType.BFLOAT16,
                    DataType.INT8,
                    DataType.UINT8,
                    DataType.INT32,
                    DataType.INT64);
    private static final int LARGE = 1_000_003;

    private final ProcessGroup group;
    private final int rank;
    private final int world;
    private final Device device;
    private final List<Tensor> tensors = new ArrayList<>();

    private TorchCollectives(ProcessGroup group, Device device) {
        this.group = group;
        this.rank = group.rank();
        this.world = group.size();
        this.device = device;
    }

    /**
     * Calls every operation that ranks of PyTorch and of Java share, and checks the results.
     *
     * @param group the world, in which the ranks of PyTorch run {@code ANYWHERE}, and {@code
     *     ON_HOST} after it if the device is the host
     * @param device where the tensors are
     */
    public static void run(ProcessGroup group, Device device) {
        TorchCollectives rank = new TorchCollectives(group, device);
        rank.run(
                rank::allReduce,
                rank::rooted,
                () -> rank.gathers(10),
                rank::reduceScatters,
                rank::allToAll,
                rank::messages,
                rank::groups,
                rank::asynchronous,
                rank::empty);
        if (device.isCpu()) {
            runOnHost(group);
        }
    }

    /**
     * Does what only tensors of the host can take part in.
     *
     * @param group the world, in which the ranks of PyTorch run {@code ON_HOST}
     */
    public static void runOnHost(ProcessGroup group) {
        TorchCollectives rank = new TorchCollectives(group, Device.CPU);
        rank.run(rank::bits, rank::taggedMessages, rank::objects);
    }

    /**
     * Takes part in {@code sum_once} and checks the sum.
     *
     * @param group the world
     * @param device where the tensor is
     */
    public static void sumOnce(ProcessGroup group, Device device) {
        TorchCollectives rank = new TorchCollectives(group, device);
        rank.reduced(FLOAT, ReduceOp.SUM, data(rank.rank, 10), rank.total(10));
        rank.close();
    }

    private void run(Runnable... parts) {
        for (Runnable part : parts) {
            part.run();
            group.barrier().await();
            close();
        }
    }

    private void close() {
        tensors.forEach(Tensor::close);
        tensors.clear();
    }

    private static double[] data(int rank, int count) {
        return IntStream.range(0, count).mapToDouble(i -> i % 5 + rank + 1).toArray();
    }

    private static double[] times(double factor, double[] values) {
        return DoubleStream.of(values).map(value -> value * factor).toArray();
    }

    private double[] total(int count) {
        return IntStream.range(0, count)
                .mapToDouble(i -> world * (i % 5 + 1) + world * (world - 1) / 2)
                .toArray();
    }

    private Tensor tensor(DataType type, double[] values) {
        byte[] bytes =
                type == DataType.INT64
                        ? Elements.encode(type, longs(values))
                        : Elements.encode(type, values);
        Tensor tensor = Tensor.allocate(device, type, values.length);
        tensors.add(tensor);
        if (bytes.length > 0) {
            Elements.bytes(tensor).copyFrom(bytes);
        }
        return tensor;
    }

    private static long[] longs(double[] values) {
        return DoubleStream.of(values).mapToLong(value -> (long) value).toArray();
    }

    private Tensor tensor(double[] values) {
        return tensor(FLOAT, values);
    }

    private Tensor zeros(int count) {
        return tensor(new double[count]);
    }

    private static double[] values(Tensor tensor) {
        byte[] bytes = new byte[Math.toIntExact(tensor.byteSize())];
        if (bytes.length > 0) {
            Elements.bytes(tensor).copyTo(bytes);
        }
        return Elements.decode(tensor.dataType(), bytes);
    }

    private static void expect(Tensor actual, double[] wanted) {
        assertThat(Arrays.equals(values(actual), wanted))
                .as("%s is %s", actual, wanted.length > 50 ? "right" : Arrays.toString(wanted))
                .isTrue();
    }

    private List<Tensor> each(IntFunction<double[]> values) {
        return IntStream.range(0, world).mapToObj(r -> tensor(values.apply(r))).toList();
    }

    private void allReduce() {
        for (DataType type : NUMBERS) {
            reduced(type, ReduceOp.SUM, data(rank, 10), total(10));
            reduced(type, ReduceOp.MAX, data(rank, 10), data(world - 1, 10));
            reduced(type, ReduceOp.MIN, data(rank, 10), data(0, 10));
            double[] product = small(0);
            for (int r = 1; r < world; r++) {
                double[] theirs = small(r);
                Arrays.setAll(product, i -> product[i] * theirs[i]);
            }
            reduced(type, ReduceOp.PRODUCT, small(rank), product);
            if (type.isFloatingPoint()) {
                reduced(type, ReduceOp.AVG, times(world, data(rank, 10)), total(10));
            }
        }
        double[] wanted = flags(0);
        for (int r = 1; r < world; r++) {
            double[] theirs = flags(r);
            Arrays.setAll(wanted, i -> Math.max(wanted[i], theirs[i]));
        }
        reduced(DataType.BOOL, ReduceOp.MAX, flags(rank), wanted);
        reduced(FLOAT, ReduceOp.AVG, data(rank, 10), average(10));
        for (int count : new int[] {1, LARGE}) {
            reduced(FLOAT, ReduceOp.SUM, data(rank, count), total(count));
        }
    }

    private static double[] small(int rank) {
        return DoubleStream.of(data(rank, 10)).map(value -> value % 2 + 1).toArray();
    }

    private static double[] flags(int rank) {
        return DoubleStream.of(data(rank, 10)).map(value -> value % 3 == 0 ? 1 : 0).toArray();
    }

    private void bits() {
        double[] bit = new double[10];
        Arrays.fill(bit, 1 << rank);
        double[] all = new double[10];
        Arrays.fill(all, (1 << world) - 1);
        double[] seven = new double[10];
        Arrays.fill(seven, 7);
        reduced(DataType.INT32, ReduceOp.BAND, seven, seven);
        reduced(DataType.INT32, ReduceOp.BOR, bit, all);
        reduced(DataType.INT32, ReduceOp.BXOR, bit, all);
    }

    private double[] average(int count) {
        return DoubleStream.of(total(count)).map(v -> (float) v / world).toArray();
    }

    private void reduced(DataType type, ReduceOp op, double[] input, double[] wanted) {
        Tensor tensor = tensor(type, input);
        group.sync().allReduce(tensor, op);
        expect(tensor, round(type, wanted));
    }

    private static double[] round(DataType type, double[] values) {
        return type == FLOAT ? DoubleStream.of(values).map(v -> (float) v).toArray() : values;
    }

    private void rooted() {
        for (int root = 0; root < world; root++) {
            broadcast(root, 10);
            broadcast(root, LARGE);
            for (ReduceOp op : List.of(ReduceOp.SUM, ReduceOp.AVG)) {
                Tensor tensor = tensor(data(rank, 10));
                group.sync().reduce(tensor, root, op);
                if (rank == root) {
                    expect(tensor, round(FLOAT, op == ReduceOp.SUM ? total(10) : average(10)));
                }
            }
            gatherAndScatter(root, 10);
        }
    }

    private void broadcast(int root, int count) {
        Tensor tensor = tensor(data(rank, count));
        group.sync().broadcast(tensor, root);
        expect(tensor, data(root, count));
    }

    private void gatherAndScatter(int root, int count) {
        List<Tensor> parts = rank == root ? each(r -> new double[count]) : null;
        group.sync().gather(parts, tensor(data(rank, count)), root);
        for (int sender = 0; rank == root && sender < world; sender++) {
            expect(parts.get(sender), data(sender, count));
        }
        Tensor tensor = zeros(count);
        group.sync().scatter(tensor, rank == root ? each(r -> data(r, count)) : null, root);
        expect(tensor, data(rank, count));
    }

    private void gathers(int count) {
        List<Tensor> parts =
                IntStream.range(0, world)
                        .mapToObj(r -> tensor(DataType.INT64, new double[count]))
                        .toList();
        group.sync().allGather(parts, tensor(DataType.INT64, data(rank, count)));
        for (int sender = 0; sender < world; sender++) {
            expect(parts.get(sender), data(sender, count));
        }
        Tensor whole = zeros(world * count);
        group.sync().allGatherSingle(whole, tensor(data(rank, count)));
        expect(whole, joined(r -> data(r, count)));
    }

    private double[] joined(IntFunction<double[]> part) {
        return IntStream.range(0, world).mapToObj(part).flatMapToDouble(DoubleStream::of).toArray();
    }

    private void reduceScatters() {
        for (ReduceOp op : List.of(ReduceOp.SUM, ReduceOp.AVG)) {
            int by = op == ReduceOp.SUM ? 1 : world;
            Tensor tensor = zeros(10);
            group.sync().reduceScatter(tensor, each(part -> times(part + 1, data(rank, 10))), op);
            expect(tensor, round(FLOAT, times(1.0 / by, times(rank + 1, total(10)))));
            group.sync().reduceScatterSingle(tensor, tensor(data(rank, 10 * world)), op);
            double[] mine = Arrays.copyOfRange(total(10 * world), 10 * rank, 10 * (rank + 1));
            expect(tensor, round(FLOAT, times(1.0 / by, mine)));
        }
        Tensor tensor = zeros(rank + 1);
        group.sync().reduceScatter(tensor, each(part -> data(rank, part + 1)), ReduceOp.SUM);
        expect(tensor, total(rank + 1));
    }

    private void allToAll() {
        Tensor tensor = zeros(3 * world);
        group.sync().allToAllSingle(tensor, tensor(data(rank, 3 * world)));
        expect(tensor, joined(r -> Arrays.copyOfRange(data(r, 3 * world), 3 * rank, 3 * rank + 3)));
        List<Tensor> parts = each(r -> new double[3]);
        group.sync().allToAll(parts, each(to -> times(to + 1, data(rank, 3))));
        for (int sender = 0; sender < world; sender++) {
            expect(parts.get(sender), times(rank + 1, data(sender, 3)));
        }
    }

    private void messages() {
        for (int sender = 0; sender < world; sender++) {
            for (int receiver = 0; receiver < world; receiver++) {
                for (int count : new int[] {7, LARGE}) {
                    if (rank == sender && sender != receiver) {
                        group.sync().send(tensor(data(rank, count)), receiver, 0);
                        group.send(tensor(data(rank + 1, count)), receiver, 0).synchronize();
                    } else if (rank == receiver && sender != receiver) {
                        Tensor tensor = zeros(count);
                        group.sync().recv(tensor, sender, 0);
                        expect(tensor, data(sender, count));
                        group.recv(tensor, sender, 0).synchronize();
                        expect(tensor, data(sender + 1, count));
                    }
                }
            }
        }
        int before = (rank + world - 1) % world;
        for (int count : new int[] {7, LARGE}) {
            Tensor tensor = zeros(count);
            group.batch()
                    .send(tensor(data(rank, count)), (rank + 1) % world, 0)
                    .recv(tensor, before, 0)
                    .issue()
                    .forEach(Work::synchronize);
            expect(tensor, data(before, count));
        }
    }

    /** Nothing, or nothing for some ranks. */
    private void empty() {
        reduced(FLOAT, ReduceOp.SUM, data(rank, 0), total(0));
        for (int root = 0; root < world; root++) {
            broadcast(root, 0);
            gatherAndScatter(root, 0);
        }
        gathers(0);
        long[] sends = IntStream.range(0, world).mapToLong(to -> (long) rank * to).toArray();
        int sum = (int) Arrays.stream(sends).sum();
        Tensor uneven = zeros(sum);
        group.sync().allToAllSingle(uneven, tensor(data(rank, sum)), sends, sends);
        IntUnaryOperator before = r -> r * rank * (rank - 1) / 2;
        expect(
                uneven,
                joined(
                        r ->
                                Arrays.copyOfRange(
                                        data(r, r * world * (world - 1) / 2),
                                        before.applyAsInt(r),
                                        before.applyAsInt(r) + r * rank)));
        for (int sender = 0; sender < world; sender++) {
            for (int receiver = 0; receiver < world; receiver++) {
                if (rank == sender && sender != receiver) {
                    group.sync().send(zeros(0), receiver, 0);
                } else if (rank == receiver && sender != receiver) {
                    group.sync().recv(zeros(0), sender, 0);
                }
            }
        }
    }

    private void taggedMessages() {
        for (int sender = 0; sender < world; sender++) {
            for (int receiver = 0; receiver < world; receiver++) {
                if (rank == sender && sender != receiver) {
                    for (int tag : new int[] {7, 8, 0}) {
                        send(tensor(data(tag, tag)), receiver, tag);
                    }
                } else if (rank == receiver && sender != receiver) {
                    for (int tag : new int[] {0, 8, 7}) {
                        Tensor tensor = zeros(tag);
                        group.recv(tensor, sender, tag).await();
                        expect(tensor, data(tag, tag));
                    }
                }
            }
        }
        if (rank != 0) {
            group.sync().send(tensor(data(rank, 5)), 0, 3);
            return;
        }
        TreeSet<Integer> senders = new TreeSet<>();
        for (int i = 1; i < world; i++) {
            Tensor tensor = zeros(5);
            int sender = group.sync().recvAnySource(tensor, 3);
            expect(tensor, data(sender, 5));
            senders.add(sender);
        }
        assertThat(senders).containsExactlyElementsOf(IntStream.range(1, world).boxed().toList());
    }

    private final List<Work> sent = new ArrayList<>();

    /** Not awaited at once, since the receiver takes the messages in another order. */
    private void send(Tensor tensor, int receiver, int tag) {
        sent.add(group.send(tensor, receiver, tag));
        if (sent.size() == 3) {
            sent.forEach(Work::await);
            sent.clear();
        }
    }

    private void groups() {
        List<Integer> ends = List.of(0, world - 1);
        List<Integer> others = IntStream.range(1, world).boxed().toList();
        for (List<Integer> ranks : List.of(ends, others, ends)) {
            Optional<ProcessGroup> made = group.newGroup(ranks);
            assertThat(made.isPresent()).isEqualTo(ranks.contains(rank));
            if (made.isPresent()) {
                try (ProcessGroup some = made.get()) {
                    Tensor tensor = tensor(data(rank, 10));
                    some.sync().allReduce(tensor, ReduceOp.SUM);
                    double[] wanted = new double[10];
                    for (int r : ranks) {
                        double[] theirs = data(r, 10);
                        Arrays.setAll(wanted, i -> wanted[i] + theirs[i]);
                    }
                    expect(tensor, wanted);
                    some.barrier().await();
                }
            }
        }
    }

    private void asynchronous() {
        List<Tensor> tensors =
                IntStream.range(1, 40).mapToObj(count -> tensor(data(rank, count))).toList();
        List<Work> works =
                tensors.stream().map(tensor -> group.allReduce(tensor, ReduceOp.SUM)).toList();
        works.forEach(Work::synchronize);
        tensors.forEach(tensor -> expect(tensor, total((int) tensor.count())));
    }

    private void objects() {
        List<byte[]> mine =
                List.of(
                        new byte[0],
                        "abc".repeat(100).getBytes(StandardCharsets.UTF_8),
                        "x".repeat(70_000).getBytes(StandardCharsets.UTF_8),
                        new byte[] {'\n', (byte) 0x80, '.'});
        List<byte[]> ofRanks = mine.subList(0, world);
        same(ObjectCollectives.allGather(group, mine.get(rank)), ofRanks);
        for (int root = 0; root < world; root++) {
            List<byte[]> none = Collections.nCopies(mine.size(), null);
            same(ObjectCollectives.broadcast(group, rank == root ? mine : none, root), mine);
            Optional<List<byte[]>> gathered = ObjectCollectives.gather(group, mine.get(rank), root);
            assertThat(gathered.isPresent()).isEqualTo(rank == root);
            gathered.ifPresent(values -> same(values, ofRanks));
            byte[] one = ObjectCollectives.scatter(group, rank == root ? ofRanks : null, root);
            assertThat(one).isEqualTo(mine.get(rank));
        }
        if (rank == 0) {
            ObjectCollectives.sendObject(group, mine.get(1), 1);
            assertThat(ObjectCollectives.recvObject(group, 1)).isEqualTo(mine.get(2));
        } else if (rank == 1) {
            assertThat(ObjectCollectives.recvObject(group, 0)).isEqualTo(mine.get(1));
            ObjectCollectives.sendObject(group, mine.get(2), 0);
        }
    }

    private static void same(List<byte[]> actual, List<byte[]> wanted) {
        assertThat(actual.toArray(byte[][]::new)).isDeepEqualTo(wanted.toArray(byte[][]::new));
    }
}
