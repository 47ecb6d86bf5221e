package org.jccl.gloo;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntFunction;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.Work;
import org.jccl.conformance.Elements;

/** A Java rank of a {@link TorchPlan}. Arguments: plan, init method, rank, world size, seconds. */
final class TorchPlanRank {

    private final ProcessGroup group;
    private final int step;
    private final String what;
    private final DataType type;
    private final int count;
    private final int root;
    private final ReduceOp op;

    private TorchPlanRank(ProcessGroup group, int step, String[] words) {
        this.group = group;
        this.step = step;
        this.what = words[0];
        this.type = DataType.parse(words[2]);
        this.count = Integer.parseInt(words[3]);
        this.root = Integer.parseInt(words[4]);
        this.op = words[5].equals("sum") ? ReduceOp.SUM : ReduceOp.MAX;
    }

    public static void main(String[] args) throws Exception {
        int rank = Integer.parseInt(args[2]);
        Duration timeout = Duration.ofSeconds(Long.parseLong(args[4]));
        try (ProcessGroup world =
                TorchWorld.join(args[1], rank, Integer.parseInt(args[3]), timeout)) {
            Map<String, ProcessGroup> groups = new HashMap<>(Map.of("0", world));
            List<String> plan = Files.readAllLines(Path.of(args[0]));
            for (int step = 0; step < plan.size(); step++) {
                try {
                    run(groups, world, step, plan.get(step).split(" "));
                } catch (RuntimeException e) {
                    throw new IllegalStateException(
                            "step " + step + " (" + plan.get(step) + ")", e);
                }
            }
        }
        System.out.println("ok");
    }

    private static void run(
            Map<String, ProcessGroup> groups, ProcessGroup world, int step, String[] words) {
        if (words[0].equals("group")) {
            List<Integer> ranks =
                    Arrays.stream(words, 2, words.length).map(Integer::valueOf).toList();
            world.newGroup(ranks).ifPresent(made -> groups.put(words[1], made));
        } else if (words[0].equals("close")) {
            ProcessGroup closed = groups.remove(words[1]);
            if (closed != null) {
                closed.close();
            }
        } else if (groups.containsKey(words[1])) {
            new TorchPlanRank(groups.get(words[1]), step, words).run();
        }
    }

    private double[] data(int rank, int elements) {
        return IntStream.range(0, elements)
                .mapToDouble(i -> (i * 7L + rank * 3L + step) % 5 + 1)
                .toArray();
    }

    private Tensor tensor(double[] values) {
        byte[] bytes =
                type == DataType.INT64
                        ? Elements.encode(
                                type, DoubleStream.of(values).mapToLong(v -> (long) v).toArray())
                        : Elements.encode(type, values);
        ByteBuffer memory = ByteBuffer.allocateDirect(bytes.length).order(ByteOrder.nativeOrder());
        return Tensor.of(memory.put(0, bytes), type);
    }

    private void expect(Tensor actual, double[] wanted) {
        byte[] bytes = new byte[Math.toIntExact(actual.byteSize())];
        Tensor.of(actual.address(), bytes.length, DataType.UINT8, Device.CPU, actual).copyTo(bytes);
        double[] found = Elements.decode(type, bytes);
        if (!Arrays.equals(found, wanted)) {
            int at = Arrays.mismatch(found, wanted);
            throw new IllegalStateException(
                    "WRONG at element " + at + ": " + found[at] + " instead of " + wanted[at]);
        }
    }

    private double[] combined(int elements, boolean sum) {
        double[] all = data(0, elements);
        for (int r = 1; r < group.size(); r++) {
            double[] theirs = data(r, elements);
            Arrays.setAll(all, i -> sum ? all[i] + theirs[i] : Math.max(all[i], theirs[i]));
        }
        return all;
    }

    private double[] joined(IntFunction<double[]> part) {
        return IntStream.range(0, group.size())
                .mapToObj(part)
                .flatMapToDouble(DoubleStream::of)
                .toArray();
    }

    private List<Tensor> each(IntFunction<double[]> part) {
        return IntStream.range(0, group.size()).mapToObj(r -> tensor(part.apply(r))).toList();
    }

    private double[] mineOf(double[] whole) {
        return Arrays.copyOfRange(whole, group.rank() * count, (group.rank() + 1) * count);
    }

    private void run() {
        int rank = group.rank();
        boolean isRoot = rank == root;
        Tensor mine = tensor(data(rank, count));
        Tensor zeros = tensor(new double[count]);
        int all = count * group.size();
        switch (what) {
            case "all_reduce" -> {
                group.sync().allReduce(mine, op);
                expect(mine, combined(count, op == ReduceOp.SUM));
            }
            case "reduce" -> {
                group.sync().reduce(mine, root, op);
                if (isRoot) {
                    expect(mine, combined(count, op == ReduceOp.SUM));
                }
            }
            case "broadcast" -> {
                group.sync().broadcast(mine, root);
                expect(mine, data(root, count));
            }
            case "all_gather" -> {
                List<Tensor> got = each(r -> new double[count]);
                group.sync().allGather(got, mine);
                IntStream.range(0, got.size()).forEach(r -> expect(got.get(r), data(r, count)));
            }
            case "gather" -> {
                List<Tensor> got = isRoot ? each(r -> new double[count]) : null;
                group.sync().gather(got, mine, root);
                for (int r = 0; isRoot && r < got.size(); r++) {
                    expect(got.get(r), data(r, count));
                }
            }
            case "scatter" -> {
                group.sync().scatter(zeros, isRoot ? each(r -> data(r, count)) : null, root);
                expect(zeros, data(rank, count));
            }
            case "reduce_scatter" -> {
                group.sync().reduceScatterSingle(zeros, tensor(data(rank, all)), ReduceOp.SUM);
                expect(zeros, mineOf(combined(all, true)));
            }
            case "all_to_all" -> {
                Tensor got = tensor(new double[all]);
                group.sync().allToAllSingle(got, tensor(data(rank, all)));
                expect(got, joined(r -> mineOf(data(r, all))));
            }
            case "message" -> {
                int to = (root + 1) % group.size();
                if (isRoot) {
                    group.send(mine, to, step).await();
                } else if (rank == to) {
                    group.recv(mine, root, step).await();
                    expect(mine, data(root, count));
                }
            }
            case "several" -> {
                List<Tensor> tensors =
                        IntStream.range(0, 8).mapToObj(i -> tensor(data(rank, count + i))).toList();
                List<Work> works =
                        tensors.stream().map(t -> group.allReduce(t, ReduceOp.SUM)).toList();
                works.forEach(Work::await);
                tensors.forEach(t -> expect(t, combined((int) t.count(), true)));
            }
            default -> group.barrier().await();
        }
    }
}
