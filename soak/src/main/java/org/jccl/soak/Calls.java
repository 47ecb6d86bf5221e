package org.jccl.soak;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.jccl.Batch;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.UsageException;
import org.jccl.Work;

/** Makes calls on one group. All its ranks draw the same numbers, and so make calls that match. */
final class Calls {

    private static final ReduceOp[] OPS = {
        ReduceOp.SUM,
        ReduceOp.AVG,
        ReduceOp.PRODUCT,
        ReduceOp.MIN,
        ReduceOp.MAX,
        ReduceOp.BAND,
        ReduceOp.BOR,
        ReduceOp.BXOR,
        ReduceOp.premulSum(Values.FACTOR)
    };

    /** So many of the kinds below reduce. */
    private static final int REDUCTIONS = 5;

    private final ProcessGroup group;
    private final Device device;
    private final Traits traits;
    private final Random draw;
    private final long seed;
    private final int rank;
    private final int size;
    private DataType type;
    private ReduceOp op;

    Calls(ProcessGroup group, Device device, Traits traits, long seed) {
        this.group = group;
        this.device = device;
        this.traits = traits;
        this.seed = seed;
        this.draw = new Random(seed);
        this.rank = group.rank();
        this.size = group.size();
    }

    /** Any operation but a receive from any source. */
    Call next() {
        int kind = draw.nextInt(17);
        type = any(DataType.values());
        op = any(OPS);
        while (kind < REDUCTIONS && (!op.supports(type) || type.isFloat8())) {
            type = any(DataType.values());
            op = any(OPS);
        }
        int root = draw.nextInt(size);
        return switch (kind) {
            case 0, 1 -> allReduce();
            case 2 -> reduce(root);
            case 3 -> reduceScatter();
            case 4 -> reduceScatterSingle();
            case 5 -> broadcast(root);
            case 6 -> allGather();
            case 7 -> allGatherSingle();
            case 8 -> gather(root);
            case 9 -> scatter(root);
            case 10 -> allToAll();
            case 11 -> allToAllSingle();
            case 12 -> allToAllSplits();
            case 13 -> barrier();
            case 14, 15 -> size > 1 ? ring() : barrier();
            default -> batch();
        };
    }

    private Call allReduce() {
        int count = count();
        Block data = block(count).set(0, input(0, rank, count)).write();
        data.set(0, reduced(0, count));
        return Call.of(
                "allReduce " + op,
                List.of(data),
                () -> group.allReduce(data.part(0), op),
                () -> group.sync().allReduce(data.part(0), op));
    }

    private Call reduce(int root) {
        int count = count();
        Block data = block(count).set(0, input(0, rank, count)).write();
        if (rank == root) {
            data.set(0, reduced(0, count));
        }
        return Call.of(
                "reduce to " + root + " " + op,
                List.of(data),
                () -> group.reduce(data.part(0), root, op),
                () -> group.sync().reduce(data.part(0), root, op));
    }

    private Call reduceScatter() {
        long[] counts = counts();
        Block inputs = block(gap(), counts);
        for (int i = 0; i < size; i++) {
            inputs.set(i, input(i, rank, (int) counts[i]));
        }
        inputs.write();
        int own = (int) counts[rank];
        Block output = block(own).write().set(0, reduced(rank, own));
        return Call.of(
                "reduceScatter " + op + " " + Arrays.toString(counts),
                List.of(inputs, output),
                () -> group.reduceScatter(output.part(0), inputs.parts(), op),
                () -> group.sync().reduceScatter(output.part(0), inputs.parts(), op));
    }

    private Call reduceScatterSingle() {
        int count = count();
        Block input = block(count * size);
        byte[] all = new byte[count * size * type.size()];
        for (int i = 0; i < size; i++) {
            copy(input(i, rank, count), all, i);
        }
        input.set(0, all).write();
        Block output = block(count).write().set(0, reduced(rank, count));
        return Call.of(
                "reduceScatterSingle " + op,
                List.of(input, output),
                () -> group.reduceScatterSingle(output.part(0), input.part(0), op),
                () -> group.sync().reduceScatterSingle(output.part(0), input.part(0), op));
    }

    private Call broadcast(int root) {
        int count = count();
        Block data = block(count);
        if (rank == root) {
            data.set(0, moved(0, root, count));
        }
        data.write().set(0, moved(0, root, count));
        return Call.of(
                "broadcast from " + root,
                List.of(data),
                () -> group.broadcast(data.part(0), root),
                () -> group.sync().broadcast(data.part(0), root));
    }

    private Call allGather() {
        long[] counts = counts();
        int own = (int) counts[rank];
        Block input = block(own).set(0, moved(0, rank, own)).write();
        Block outputs = block(gap(), counts).write();
        for (int i = 0; i < size; i++) {
            outputs.set(i, moved(0, i, (int) counts[i]));
        }
        return Call.of(
                "allGather " + Arrays.toString(counts),
                List.of(input, outputs),
                () -> group.allGather(outputs.parts(), input.part(0)),
                () -> group.sync().allGather(outputs.parts(), input.part(0)));
    }

    private Call allGatherSingle() {
        int count = count();
        Block input = block(count).set(0, moved(0, rank, count)).write();
        Block output = block(count * size).write().set(0, everybodys(0, count));
        return Call.of(
                "allGatherSingle",
                List.of(input, output),
                () -> group.allGatherSingle(output.part(0), input.part(0)),
                () -> group.sync().allGatherSingle(output.part(0), input.part(0)));
    }

    private Call gather(int root) {
        int count = count();
        int gap = gap();
        Block input = block(count).set(0, moved(0, rank, count)).write();
        if (rank != root) {
            return Call.of(
                    "gather to " + root,
                    List.of(input),
                    () -> group.gather(List.of(), input.part(0), root),
                    () -> group.sync().gather(List.of(), input.part(0), root));
        }
        Block outputs = block(gap, equal(count)).write();
        for (int i = 0; i < size; i++) {
            outputs.set(i, moved(0, i, count));
        }
        return Call.of(
                "gather here",
                List.of(input, outputs),
                () -> group.gather(outputs.parts(), input.part(0), root),
                () -> group.sync().gather(outputs.parts(), input.part(0), root));
    }

    private Call scatter(int root) {
        int count = count();
        int gap = gap();
        Block output = block(count).write().set(0, moved(rank, root, count));
        if (rank != root) {
            return Call.of(
                    "scatter from " + root,
                    List.of(output),
                    () -> group.scatter(output.part(0), List.of(), root),
                    () -> group.sync().scatter(output.part(0), List.of(), root));
        }
        Block inputs = block(gap, equal(count));
        for (int i = 0; i < size; i++) {
            inputs.set(i, moved(i, root, count));
        }
        inputs.write();
        return Call.of(
                "scatter from here",
                List.of(output, inputs),
                () -> group.scatter(output.part(0), inputs.parts(), root),
                () -> group.sync().scatter(output.part(0), inputs.parts(), root));
    }

    private Call allToAll() {
        long[][] counts = matrix();
        Block inputs = block(gap(), counts[rank]);
        Block outputs = block(gap(), column(counts));
        for (int i = 0; i < size; i++) {
            inputs.set(i, moved(i, rank, (int) counts[rank][i]));
        }
        inputs.write();
        outputs.write();
        for (int i = 0; i < size; i++) {
            outputs.set(i, moved(rank, i, (int) counts[i][rank]));
        }
        return Call.of(
                "allToAll " + Arrays.deepToString(counts),
                List.of(inputs, outputs),
                () -> group.allToAll(outputs.parts(), inputs.parts()),
                () -> group.sync().allToAll(outputs.parts(), inputs.parts()));
    }

    private Call allToAllSingle() {
        int count = count();
        Block input = block(count * size);
        Block output = block(count * size).write();
        byte[] sent = new byte[count * size * type.size()];
        byte[] received = new byte[sent.length];
        for (int i = 0; i < size; i++) {
            copy(moved(i, rank, count), sent, i);
            copy(moved(rank, i, count), received, i);
        }
        input.set(0, sent).write();
        output.set(0, received);
        return Call.of(
                "allToAllSingle",
                List.of(input, output),
                () -> group.allToAllSingle(output.part(0), input.part(0)),
                () -> group.sync().allToAllSingle(output.part(0), input.part(0)));
    }

    private Call allToAllSplits() {
        long[][] counts = matrix();
        long[] in = counts[rank];
        long[] out = column(counts);
        byte[] sent = new byte[0];
        byte[] received = new byte[0];
        for (int i = 0; i < size; i++) {
            sent = joined(sent, moved(i, rank, (int) in[i]));
            received = joined(received, moved(rank, i, (int) out[i]));
        }
        Block input = block(Arrays.stream(in).sum()).set(0, sent).write();
        Block output = block(Arrays.stream(out).sum()).write().set(0, received);
        return Call.of(
                "allToAllSingle " + Arrays.deepToString(counts),
                List.of(input, output),
                () -> group.allToAllSingle(output.part(0), input.part(0), out, in),
                () -> group.sync().allToAllSingle(output.part(0), input.part(0), out, in));
    }

    private Call barrier() {
        return Call.of("barrier", List.of(), group::barrier, group.sync()::barrier);
    }

    /** Every rank sends to the one that many places behind it. */
    private Call ring() {
        int count = count();
        int places = 1 + draw.nextInt(size - 1);
        int tag = traits.tags() ? draw.nextInt(4) : 0;
        boolean together = draw.nextBoolean() || !traits.anyOrder();
        int to = (rank + places) % size;
        int from = (rank - places + size) % size;
        Block sent = block(count).set(0, moved(to, rank, count)).write();
        Block received = block(count).write().set(0, moved(rank, from, count));
        return new Call(
                "send to " + to + " and recv from " + from + ", tag " + tag,
                List.of(sent, received),
                () ->
                        together
                                ? group.batch()
                                        .send(sent.part(0), to, tag)
                                        .recv(received.part(0), from, tag)
                                        .issue()
                                : List.of(
                                        group.send(sent.part(0), to, tag),
                                        group.recv(received.part(0), from, tag)),
                () -> {
                    if (traits.anyOrder()) {
                        Work work = group.send(sent.part(0), to, tag);
                        group.sync().recv(received.part(0), from, tag);
                        work.await();
                    } else {
                        group.batch()
                                .send(sent.part(0), to, tag)
                                .recv(received.part(0), from, tag)
                                .issue()
                                .forEach(Work::await);
                    }
                });
    }

    /** Several operations at once. */
    private Call batch() {
        Batch batch = group.batch();
        List<Block> blocks = new ArrayList<>();
        int operations = 1 + draw.nextInt(4);
        for (int i = 0; i < operations; i++) {
            type = any(DataType.values());
            op = any(OPS);
            addTo(batch, blocks, i);
        }
        if (blocks.isEmpty()) {
            return barrier();
        }
        return new Call(
                "batch of " + operations,
                blocks,
                batch::issue,
                () -> batch.issue().forEach(Work::await));
    }

    private void addTo(Batch batch, List<Block> blocks, int index) {
        int kind = draw.nextInt(4);
        int count = 1 + count() % 5000;
        int root = draw.nextInt(size);
        boolean reduces = op.supports(type) && !type.isFloat8();
        long place = 100L * (1 + index);
        if (kind == 0 || kind == 1 && !reduces) {
            Block data = block(count);
            if (rank == root) {
                data.set(0, moved(place, root, count));
            }
            data.write().set(0, moved(place, root, count));
            batch.broadcast(data.part(0), root);
            blocks.add(data);
        } else if (kind == 1) {
            Block data = block(count).set(0, input(place, rank, count)).write();
            data.set(0, reduced(place, count));
            try {
                batch.allReduce(data.part(0), op);
                blocks.add(data);
            } catch (UsageException e) {
                data.close();
                traits.requireRefusal(e);
            }
        } else if (kind == 2 || size == 1) {
            Block input = block(count).set(0, moved(place, rank, count)).write();
            Block output = block(count * size).write().set(0, everybodys(place, count));
            batch.allGatherSingle(output.part(0), input.part(0));
            blocks.addAll(List.of(input, output));
        } else {
            int to = (rank + 1) % size;
            int from = (rank - 1 + size) % size;
            Block sent = block(count).set(0, moved(place + to, rank, count)).write();
            Block received = block(count).write().set(0, moved(place + rank, from, count));
            int tag = traits.tags() ? index : 0;
            batch.send(sent.part(0), to, tag).recv(received.part(0), from, tag);
            blocks.addAll(List.of(sent, received));
        }
    }

    /** All other ranks send to one, which takes them as they come. */
    Call anySource(int tag) {
        type = any(DataType.values());
        int root = draw.nextInt(size);
        int count = count();
        if (rank != root) {
            Block sent = block(count).set(0, moved(0, rank, count)).write();
            return Call.of(
                    "send to " + root + " for any source",
                    List.of(sent),
                    () -> group.send(sent.part(0), root, tag),
                    () -> group.sync().send(sent.part(0), root, tag));
        }
        List<Block> received = new ArrayList<>();
        for (int i = 1; i < size; i++) {
            received.add(block(count).write());
        }
        return new Call(
                "recvAnySource",
                received,
                () -> {
                    List<Work> works = new ArrayList<>();
                    for (Block block : received) {
                        Work work = group.recvAnySource(block.part(0), tag);
                        work.synchronize();
                        block.set(0, moved(0, work.sourceRank(), count));
                        works.add(work);
                    }
                    return works;
                },
                () -> {
                    for (Block block : received) {
                        int source = group.sync().recvAnySource(block.part(0), tag);
                        block.set(0, moved(0, source, count));
                    }
                });
    }

    private Block block(long count) {
        return block(0, count);
    }

    private Block block(int gap, long... counts) {
        return new Block(device, type, gap, counts);
    }

    /** Mostly few; sometimes more than goes into one packet, or than a library's buffer. */
    private int count() {
        int kind = draw.nextInt(100);
        if (kind < 72) {
            return draw.nextInt(64);
        }
        return draw.nextInt(kind < 93 ? 2000 : kind < 99 ? 20_000 : 100_000);
    }

    private long[] counts() {
        int most = 1 + count();
        return draw.ints(size, 0, most).asLongStream().toArray();
    }

    private long[] equal(int count) {
        return IntStream.range(0, size).mapToLong(i -> count).toArray();
    }

    /** Elements for a rank by the rank that sends them. */
    private long[][] matrix() {
        long[][] counts = new long[size][];
        int most = 1 + count();
        for (int i = 0; i < size; i++) {
            counts[i] = draw.ints(size, 0, most).asLongStream().toArray();
        }
        return counts;
    }

    private long[] column(long[][] counts) {
        return Arrays.stream(counts).mapToLong(row -> row[rank]).toArray();
    }

    private int gap() {
        return draw.nextInt(2);
    }

    private <T> T any(T[] values) {
        return values[draw.nextInt(values.length)];
    }

    private byte[] input(long place, int of, int count) {
        return Values.input(type, op, size, Values.mix(seed, place), of, count);
    }

    private byte[] reduced(long place, int count) {
        return Values.reduced(type, op, size, Values.mix(seed, place), count);
    }

    /** What a rank has for a place. */
    private byte[] moved(long place, int of, int count) {
        return Values.moved(type, Values.mix(seed, place, of), count);
    }

    private byte[] everybodys(long place, int count) {
        byte[] all = new byte[count * size * type.size()];
        for (int i = 0; i < size; i++) {
            copy(moved(place, i, count), all, i);
        }
        return all;
    }

    private static void copy(byte[] part, byte[] all, int index) {
        System.arraycopy(part, 0, all, index * part.length, part.length);
    }

    private static byte[] joined(byte[] first, byte[] second) {
        byte[] both = Arrays.copyOf(first, first.length + second.length);
        System.arraycopy(second, 0, both, first.length, second.length);
        return both;
    }
}
