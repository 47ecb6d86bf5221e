package org.jccl.conformance;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jccl.DataType;
import org.jccl.Tensor;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** allToAll in all its forms. */
abstract class AllToAllCases extends Cases {

    /** How many elements go from one rank to another. */
    private interface Layout {
        int count(int from, int to);
    }

    private static final Layout UNEVEN = (from, to) -> (from * 2 + to * 3) % 5;
    private static final Layout MOSTLY_ZERO = (from, to) -> from == 0 && to > 0 ? 9 : 0;
    private static final Layout LARGE_PARTS = (from, to) -> 20_011 + 3 * from + to;

    /** What goes from one rank to another. */
    private static byte[] message(DataType type, int from, int to, int count) {
        return Elements.pattern(type, 1000L * from + to, count);
    }

    private static long[] sent(Rank rank, Layout layout) {
        long[] counts = new long[rank.size()];
        Arrays.setAll(counts, to -> layout.count(rank.rank(), to));
        return counts;
    }

    private static long[] received(Rank rank, Layout layout) {
        long[] counts = new long[rank.size()];
        Arrays.setAll(counts, from -> layout.count(from, rank.rank()));
        return counts;
    }

    private static byte[] concatenated(List<byte[]> parts) {
        byte[] all = new byte[parts.stream().mapToInt(part -> part.length).sum()];
        int at = 0;
        for (byte[] part : parts) {
            System.arraycopy(part, 0, all, at, part.length);
            at += part.length;
        }
        return all;
    }

    private static List<byte[]> outgoing(Rank rank, DataType type, Layout layout) {
        List<byte[]> parts = new ArrayList<>();
        for (int to = 0; to < rank.size(); to++) {
            parts.add(message(type, rank.rank(), to, layout.count(rank.rank(), to)));
        }
        return parts;
    }

    private static List<byte[]> incoming(Rank rank, DataType type, Layout layout) {
        List<byte[]> parts = new ArrayList<>();
        for (int from = 0; from < rank.size(); from++) {
            parts.add(message(type, from, rank.rank(), layout.count(from, rank.rank())));
        }
        return parts;
    }

    private static String what(Object... parts) {
        return Arrays.toString(parts);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5})
    void allToAllSingleTransposesEqualParts(int size) {
        onRanks(
                size,
                rank -> {
                    for (Forms form : Forms.of(rank.group())) {
                        for (DataType type : DataType.values()) {
                            for (int count : counts(type)) {
                                single(rank, form, type, count);
                            }
                        }
                        single(rank, form, DataType.FLOAT32, LARGE / size);
                    }
                });
    }

    private static void single(Rank rank, Forms form, DataType type, int count) {
        Layout equal = (from, to) -> count;
        byte[] before = concatenated(outgoing(rank, type, equal));
        Tensor input = rank.bytes(type, before);
        Tensor output = rank.blank(type, count * rank.size());
        form.allToAllSingle(output, input);
        String what = what("allToAllSingle", form, type, count);
        rank.expect(output, concatenated(incoming(rank, type, equal)), what);
        rank.expect(input, before, what + " input");

        form.allToAllSingle(input, input);
        rank.expect(input, concatenated(incoming(rank, type, equal)), what + " in place");
    }

    @Tag("uneven")
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5})
    void allToAllSingleTakesSplits(int size) {
        onRanks(
                size,
                rank -> {
                    for (Forms form : Forms.of(rank.group())) {
                        for (DataType type : DataType.values()) {
                            splits(rank, form, type, UNEVEN);
                            splits(rank, form, type, MOSTLY_ZERO);
                        }
                        splits(rank, form, DataType.FLOAT32, LARGE_PARTS);
                    }
                });
    }

    private static void splits(Rank rank, Forms form, DataType type, Layout layout) {
        byte[] before = concatenated(outgoing(rank, type, layout));
        Tensor input = rank.bytes(type, before);
        byte[] expected = concatenated(incoming(rank, type, layout));
        Tensor output = rank.blank(type, expected.length / type.size());
        form.allToAllSingle(output, input, received(rank, layout), sent(rank, layout));
        String what = what("allToAllSingle with splits", form, type);
        rank.expect(output, expected, what);
        rank.expect(input, before, what + " input");

        int room = Math.max(before.length, expected.length) / type.size();
        Tensor memory = rank.blank(type, room);
        input = memory.slice(0, before.length / type.size());
        rank.backend().write(input, before);
        output = memory.slice(0, expected.length / type.size());
        form.allToAllSingle(output, input, received(rank, layout), sent(rank, layout));
        rank.expect(output, expected, what + " in place");
    }

    @Tag("uneven")
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5})
    void allToAllTakesListsOfAnySizesFromAnywhere(int size) {
        onRanks(
                size,
                rank -> {
                    for (Forms form : Forms.of(rank.group())) {
                        for (DataType type : DataType.values()) {
                            for (Layout layout : List.of(UNEVEN, MOSTLY_ZERO)) {
                                lists(rank, form, type, layout, true);
                                lists(rank, form, type, layout, false);
                            }
                        }
                        lists(rank, form, DataType.FLOAT32, LARGE_PARTS, true);
                        lists(rank, form, DataType.FLOAT32, LARGE_PARTS, false);
                    }
                });
    }

    private static void lists(
            Rank rank, Forms form, DataType type, Layout layout, boolean adjacent) {
        List<byte[]> before = outgoing(rank, type, layout);
        List<Tensor> inputs = new ArrayList<>();
        Tensor whole = rank.bytes(type, concatenated(before));
        long offset = 0;
        for (byte[] part : before) {
            long count = part.length / type.size();
            inputs.add(adjacent ? whole.slice(offset, count) : rank.bytes(type, part));
            offset += count;
        }
        long[] counts = received(rank, layout);
        List<Tensor> outputs = adjacent ? rank.adjacent(type, counts) : rank.apart(type, counts);
        form.allToAll(outputs, inputs);
        String what = what("allToAll", form, type, adjacent);
        List<byte[]> expected = incoming(rank, type, layout);
        for (int other = 0; other < rank.size(); other++) {
            rank.expect(outputs.get(other), expected.get(other), what + " from " + other);
            rank.expect(inputs.get(other), before.get(other), what + " input");
        }

        // Every second part in place: the input begins where the output does.
        List<Tensor> from = new ArrayList<>();
        for (int other = 0; other < rank.size(); other++) {
            byte[] part = before.get(other);
            long count = part.length / type.size();
            Tensor output = outputs.get(other);
            boolean inPlace = other % 2 == 0 && count <= output.count();
            from.add(inPlace ? output.slice(0, count) : rank.bytes(type, part));
            rank.backend().write(from.get(other), part);
        }
        form.allToAll(outputs, from);
        for (int other = 0; other < rank.size(); other++) {
            rank.expect(outputs.get(other), expected.get(other), what + " in place");
        }
    }
}
