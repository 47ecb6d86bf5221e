package org.jccl.soak;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jccl.Batch;
import org.jccl.Device;
import org.jccl.ProcessGroup;
import org.jccl.UsageException;
import org.jccl.Work;

/** Makes calls on one group. All its ranks draw the same numbers, and so make calls that match. */
final class Calls {

    /** So many of the kinds below reduce. */
    private static final int REDUCTIONS = 5;

    private final ProcessGroup group;
    private final Traits traits;
    private final Draw draw;
    private final int rank;
    private final int size;

    Calls(ProcessGroup group, Device device, Traits traits, long seed) {
        this.group = group;
        this.traits = traits;
        this.draw = new Draw(group, device, seed);
        this.rank = group.rank();
        this.size = group.size();
    }

    /** Any operation but a receive from any source. */
    Call next() {
        int kind = draw.number(17);
        draw.typeAndOp();
        while (kind < REDUCTIONS && !draw.reduces()) {
            draw.typeAndOp();
        }
        int root = draw.number(size);
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
        int count = draw.count();
        Block data = draw.block(count).set(0, draw.input(0, rank, count)).write();
        data.set(0, draw.reduced(0, count));
        return Call.of(
                "allReduce " + draw.op(),
                List.of(data),
                () -> group.allReduce(data.part(0), draw.op()),
                () -> group.sync().allReduce(data.part(0), draw.op()));
    }

    private Call reduce(int root) {
        int count = draw.count();
        Block data = draw.block(count).set(0, draw.input(0, rank, count)).write();
        if (rank == root) {
            data.set(0, draw.reduced(0, count));
        }
        return Call.of(
                "reduce to " + root + " " + draw.op(),
                List.of(data),
                () -> group.reduce(data.part(0), root, draw.op()),
                () -> group.sync().reduce(data.part(0), root, draw.op()));
    }

    private Call reduceScatter() {
        long[] counts = draw.counts();
        Block inputs = draw.block(draw.gap(), counts);
        for (int i = 0; i < size; i++) {
            inputs.set(i, draw.input(i, rank, (int) counts[i]));
        }
        inputs.write();
        int own = (int) counts[rank];
        Block output = draw.block(own).write().set(0, draw.reduced(rank, own));
        return Call.of(
                "reduceScatter " + draw.op() + " " + Arrays.toString(counts),
                List.of(inputs, output),
                () -> group.reduceScatter(output.part(0), inputs.parts(), draw.op()),
                () -> group.sync().reduceScatter(output.part(0), inputs.parts(), draw.op()));
    }

    private Call reduceScatterSingle() {
        int count = draw.count();
        Block input = draw.block(count * size);
        byte[] all = new byte[count * size * draw.type().size()];
        for (int i = 0; i < size; i++) {
            Draw.copy(draw.input(i, rank, count), all, i);
        }
        input.set(0, all).write();
        Block output = draw.block(count).write().set(0, draw.reduced(rank, count));
        return Call.of(
                "reduceScatterSingle " + draw.op(),
                List.of(input, output),
                () -> group.reduceScatterSingle(output.part(0), input.part(0), draw.op()),
                () -> group.sync().reduceScatterSingle(output.part(0), input.part(0), draw.op()));
    }

    private Call broadcast(int root) {
        int count = draw.count();
        Block data = draw.block(count);
        if (rank == root) {
            data.set(0, draw.moved(0, root, count));
        }
        data.write().set(0, draw.moved(0, root, count));
        return Call.of(
                "broadcast from " + root,
                List.of(data),
                () -> group.broadcast(data.part(0), root),
                () -> group.sync().broadcast(data.part(0), root));
    }

    private Call allGather() {
        long[] counts = draw.counts();
        int own = (int) counts[rank];
        Block input = draw.block(own).set(0, draw.moved(0, rank, own)).write();
        Block outputs = draw.block(draw.gap(), counts).write();
        for (int i = 0; i < size; i++) {
            outputs.set(i, draw.moved(0, i, (int) counts[i]));
        }
        return Call.of(
                "allGather " + Arrays.toString(counts),
                List.of(input, outputs),
                () -> group.allGather(outputs.parts(), input.part(0)),
                () -> group.sync().allGather(outputs.parts(), input.part(0)));
    }

    private Call allGatherSingle() {
        int count = draw.count();
        Block input = draw.block(count).set(0, draw.moved(0, rank, count)).write();
        Block output = draw.block(count * size).write().set(0, draw.everybodys(0, count));
        return Call.of(
                "allGatherSingle",
                List.of(input, output),
                () -> group.allGatherSingle(output.part(0), input.part(0)),
                () -> group.sync().allGatherSingle(output.part(0), input.part(0)));
    }

    private Call gather(int root) {
        int count = draw.count();
        int gap = draw.gap();
        Block input = draw.block(count).set(0, draw.moved(0, rank, count)).write();
        if (rank != root) {
            return Call.of(
                    "gather to " + root,
                    List.of(input),
                    () -> group.gather(List.of(), input.part(0), root),
                    () -> group.sync().gather(List.of(), input.part(0), root));
        }
        Block outputs = draw.block(gap, draw.equal(count)).write();
        for (int i = 0; i < size; i++) {
            outputs.set(i, draw.moved(0, i, count));
        }
        return Call.of(
                "gather here",
                List.of(input, outputs),
                () -> group.gather(outputs.parts(), input.part(0), root),
                () -> group.sync().gather(outputs.parts(), input.part(0), root));
    }

    private Call scatter(int root) {
        int count = draw.count();
        int gap = draw.gap();
        Block output = draw.block(count).write().set(0, draw.moved(rank, root, count));
        if (rank != root) {
            return Call.of(
                    "scatter from " + root,
                    List.of(output),
                    () -> group.scatter(output.part(0), List.of(), root),
                    () -> group.sync().scatter(output.part(0), List.of(), root));
        }
        Block inputs = draw.block(gap, draw.equal(count));
        for (int i = 0; i < size; i++) {
            inputs.set(i, draw.moved(i, root, count));
        }
        inputs.write();
        return Call.of(
                "scatter from here",
                List.of(output, inputs),
                () -> group.scatter(output.part(0), inputs.parts(), root),
                () -> group.sync().scatter(output.part(0), inputs.parts(), root));
    }

    private Call allToAll() {
        long[][] counts = draw.matrix();
        Block inputs = draw.block(draw.gap(), counts[rank]);
        Block outputs = draw.block(draw.gap(), draw.column(counts));
        for (int i = 0; i < size; i++) {
            inputs.set(i, draw.moved(i, rank, (int) counts[rank][i]));
        }
        inputs.write();
        outputs.write();
        for (int i = 0; i < size; i++) {
            outputs.set(i, draw.moved(rank, i, (int) counts[i][rank]));
        }
        return Call.of(
                "allToAll " + Arrays.deepToString(counts),
                List.of(inputs, outputs),
                () -> group.allToAll(outputs.parts(), inputs.parts()),
                () -> group.sync().allToAll(outputs.parts(), inputs.parts()));
    }

    private Call allToAllSingle() {
        int count = draw.count();
        Block input = draw.block(count * size);
        Block output = draw.block(count * size).write();
        byte[] sent = new byte[count * size * draw.type().size()];
        byte[] received = new byte[sent.length];
        for (int i = 0; i < size; i++) {
            Draw.copy(draw.moved(i, rank, count), sent, i);
            Draw.copy(draw.moved(rank, i, count), received, i);
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
        long[][] counts = draw.matrix();
        long[] in = counts[rank];
        long[] out = draw.column(counts);
        byte[] sent = new byte[0];
        byte[] received = new byte[0];
        for (int i = 0; i < size; i++) {
            sent = Draw.joined(sent, draw.moved(i, rank, (int) in[i]));
            received = Draw.joined(received, draw.moved(rank, i, (int) out[i]));
        }
        Block input = draw.block(Arrays.stream(in).sum()).set(0, sent).write();
        Block output = draw.block(Arrays.stream(out).sum()).write().set(0, received);
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
        int count = draw.count();
        int places = 1 + draw.number(size - 1);
        int tag = traits.tags() ? draw.number(4) : 0;
        boolean together = draw.number(2) == 0 || !traits.anyOrder();
        int to = (rank + places) % size;
        int from = (rank - places + size) % size;
        Block sent = draw.block(count).set(0, draw.moved(to, rank, count)).write();
        Block received = draw.block(count).write().set(0, draw.moved(rank, from, count));
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
        int operations = 1 + draw.number(4);
        for (int i = 0; i < operations; i++) {
            draw.typeAndOp();
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
        int kind = draw.number(4);
        int count = 1 + draw.count() % 5000;
        int root = draw.number(size);
        boolean reduces = draw.reduces();
        long place = 100L * (1 + index);
        if (kind == 0 || kind == 1 && !reduces) {
            Block data = draw.block(count);
            if (rank == root) {
                data.set(0, draw.moved(place, root, count));
            }
            data.write().set(0, draw.moved(place, root, count));
            batch.broadcast(data.part(0), root);
            blocks.add(data);
        } else if (kind == 1) {
            Block data = draw.block(count).set(0, draw.input(place, rank, count)).write();
            data.set(0, draw.reduced(place, count));
            try {
                batch.allReduce(data.part(0), draw.op());
                blocks.add(data);
            } catch (UsageException e) {
                data.close();
                traits.requireRefusal(e);
            }
        } else if (kind == 2 || size == 1) {
            Block input = draw.block(count).set(0, draw.moved(place, rank, count)).write();
            Block output = draw.block(count * size).write().set(0, draw.everybodys(place, count));
            batch.allGatherSingle(output.part(0), input.part(0));
            blocks.addAll(List.of(input, output));
        } else {
            int to = (rank + 1) % size;
            int from = (rank - 1 + size) % size;
            Block sent = draw.block(count).set(0, draw.moved(place + to, rank, count)).write();
            Block received =
                    draw.block(count).write().set(0, draw.moved(place + rank, from, count));
            int tag = traits.tags() ? index : 0;
            batch.send(sent.part(0), to, tag).recv(received.part(0), from, tag);
            blocks.addAll(List.of(sent, received));
        }
    }

    /** All other ranks send to one, which takes them as they come. */
    Call anySource(int tag) {
        draw.typeAndOp();
        int root = draw.number(size);
        int count = draw.count();
        if (rank != root) {
            Block sent = draw.block(count).set(0, draw.moved(0, rank, count)).write();
            return Call.of(
                    "send to " + root + " for any source",
                    List.of(sent),
                    () -> group.send(sent.part(0), root, tag),
                    () -> group.sync().send(sent.part(0), root, tag));
        }
        List<Block> received = new ArrayList<>();
        for (int i = 1; i < size; i++) {
            received.add(draw.block(count).write());
        }
        return new Call(
                "recvAnySource",
                received,
                () -> {
                    List<Work> works = new ArrayList<>();
                    for (Block block : received) {
                        Work work = group.recvAnySource(block.part(0), tag);
                        work.synchronize();
                        block.set(0, draw.moved(0, work.sourceRank(), count));
                        works.add(work);
                    }
                    return works;
                },
                () -> {
                    for (Block block : received) {
                        int source = group.sync().recvAnySource(block.part(0), tag);
                        block.set(0, draw.moved(0, source, count));
                    }
                });
    }
}
