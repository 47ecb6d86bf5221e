package org.jccl.gloo;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * What all ranks of a world do, one step a line, which Java and Python ranks read:
 *
 * <pre>
 * group NAME RANK...                        every rank of the world makes a group
 * close NAME                                its members close it
 * OPERATION NAME TYPE COUNT ROOT REDUCE_OP  its members call it and check the result
 * </pre>
 *
 * The world's name is 0. In step s, element i of rank r is {@code (7 i + 3 r + s) % 5 + 1}.
 */
final class TorchPlan {

    private static final List<String> OPERATIONS =
            List.of(
                    "all_reduce",
                    "reduce",
                    "broadcast",
                    "all_gather",
                    "gather",
                    "scatter",
                    "reduce_scatter",
                    "all_to_all",
                    "message",
                    "several",
                    "barrier");
    private static final List<String> TYPES = List.of("int32", "int64", "float32", "uint8");
    private static final List<Integer> COUNTS = List.of(1, 2, 7, 100, 1_000, 30_000, 300_000);

    private TorchPlan() {}

    /**
     * Groups live for a few steps only, as that is where ranks come and go. Those of several Python
     * ranks begin with a barrier: one of these that closes a group while another still connects
     * makes that one fail, also without Java.
     *
     * @param placement one letter J or P for each rank
     */
    static List<String> make(long seed, int steps, String placement) {
        Random random = new Random(seed);
        int world = placement.length();
        List<String> plan = new ArrayList<>();
        TreeMap<Integer, Integer> sizes = new TreeMap<>();
        sizes.put(0, world);
        for (int made = 0; plan.size() < steps; ) {
            List<Integer> open = new ArrayList<>(sizes.keySet());
            int name = open.get(random.nextInt(open.size()));
            int choice = random.nextInt(10);
            if (choice < 3 && open.size() < 5) {
                List<Integer> ranks = ranks(random, world);
                sizes.put(++made, ranks.size());
                plan.add(
                        "group "
                                + made
                                + ranks.stream().map(r -> " " + r).collect(Collectors.joining()));
                if (ranks.stream().filter(r -> placement.charAt(r) == 'P').count() > 1) {
                    plan.add("barrier " + made + " int32 1 0 sum");
                }
            } else if (choice < 6 && name != 0) {
                sizes.remove(name);
                plan.add("close " + name);
            } else {
                plan.add(operation(random, name, sizes.get(name)));
            }
        }
        plan.add("barrier 0 int32 1 0 sum"); // or the store might go while a rank still connects
        return plan;
    }

    private static List<Integer> ranks(Random random, int world) {
        List<Integer> ranks =
                IntStream.range(0, world).boxed().collect(Collectors.toCollection(ArrayList::new));
        Collections.shuffle(ranks, random);
        return ranks.subList(0, 2 + random.nextInt(world - 1)).stream().sorted().toList();
    }

    private static String operation(Random random, int name, int size) {
        return String.join(
                " ",
                pick(random, OPERATIONS),
                Integer.toString(name),
                pick(random, TYPES),
                Integer.toString(pick(random, COUNTS)),
                Integer.toString(random.nextInt(size)),
                pick(random, List.of("sum", "max")));
    }

    private static <T> T pick(Random random, List<T> values) {
        return values.get(random.nextInt(values.size()));
    }
}
