package org.jccl;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.LongStream;
import org.jccl.internal.PickledBytes;

/**
 * The object collectives of {@code torch.distributed} for objects that are {@code bytes} in Python
 * and {@code byte[]} in Java. Sizes may differ from rank to rank. They block, and go over the
 * group's backend for host memory.
 *
 * <p>As in Python, sizes go first and the objects are padded to the largest where the collective
 * wants equal parts. Only bytes are read: an object of another type is a {@link UsageException},
 * and nothing that a peer sends is ever executed, as Python's unpickling would. Errors are those of
 * the collectives beneath.
 */
public final class TorchObjects {

    private TorchObjects() {}

    /**
     * {@code all_gather_object}.
     *
     * @param group the ranks
     * @param value of this rank
     * @return one value a rank
     * @throws UsageException when a rank sent something else than bytes
     * @throws JcclException as the collectives of the group
     */
    public static List<byte[]> allGather(ProcessGroup group, byte[] value) {
        byte[] mine = PickledBytes.encode(value);
        long[] sizes = sizes(group, mine.length);
        int largest = (int) LongStream.of(sizes).max().orElseThrow();
        try (Tensor input = Tensor.copyOf(Arrays.copyOf(mine, largest));
                Tensor output = bytes((long) largest * group.size())) {
            group.sync().allGatherSingle(output, input);
            return cut(group, output, largest, sizes);
        }
    }

    /**
     * {@code gather_object}.
     *
     * @param group the ranks
     * @param value of this rank
     * @param root who gets the values
     * @return on the root one value a rank, elsewhere empty
     * @throws UsageException when a rank sent something else than bytes, or root is no rank
     * @throws JcclException as the collectives of the group
     */
    public static Optional<List<byte[]>> gather(ProcessGroup group, byte[] value, int root) {
        byte[] mine = PickledBytes.encode(value);
        long[] sizes = sizes(group, mine.length);
        int largest = (int) LongStream.of(sizes).max().orElseThrow();
        boolean receives = group.rank() == root;
        try (Tensor input = Tensor.copyOf(Arrays.copyOf(mine, largest));
                Tensor output = bytes(receives ? (long) largest * group.size() : 0)) {
            group.sync().gather(receives ? parts(group, output) : null, input, root);
            return receives ? Optional.of(cut(group, output, largest, sizes)) : Optional.empty();
        }
    }

    /**
     * {@code broadcast_object_list}.
     *
     * @param group the ranks
     * @param values on the root what to send, elsewhere as many elements of any value
     * @param root who sends
     * @return the root's values
     * @throws UsageException when the root sent something else than bytes, or root is no rank
     * @throws JcclException as the collectives of the group
     */
    public static List<byte[]> broadcast(ProcessGroup group, List<byte[]> values, int root) {
        boolean sends = group.rank() == root;
        List<byte[]> encoded = sends ? values.stream().map(PickledBytes::encode).toList() : null;
        long[] sizes = new long[values.size()];
        if (sends) {
            Arrays.setAll(sizes, i -> encoded.get(i).length);
        }
        try (Tensor all = Tensor.copyOf(sizes)) {
            group.sync().broadcast(all, root);
            all.copyTo(sizes);
        }
        byte[] joined = new byte[Math.toIntExact(LongStream.of(sizes).sum())];
        each(sizes, (i, at) -> copy(sends ? encoded.get(i) : null, joined, at));
        try (Tensor all = Tensor.copyOf(joined)) {
            group.sync().broadcast(all, root);
            all.copyTo(joined);
        }
        List<byte[]> received = new ArrayList<>();
        each(
                sizes,
                (i, at) ->
                        received.add(
                                PickledBytes.decode(
                                        Arrays.copyOfRange(joined, at, at + (int) sizes[i]))));
        return received;
    }

    /**
     * {@code scatter_object_list}.
     *
     * @param group the ranks
     * @param values on the root one value a rank, elsewhere ignored and may be null
     * @param root who sends
     * @return this rank's value
     * @throws UsageException when the root sent something else than bytes, or root is no rank
     * @throws JcclException as the collectives of the group
     */
    public static byte[] scatter(ProcessGroup group, List<byte[]> values, int root) {
        boolean sends = group.rank() == root;
        List<byte[]> encoded =
                sends ? values.stream().map(PickledBytes::encode).toList() : List.of();
        long[] sizes = encoded.stream().mapToLong(each -> each.length).toArray();
        long[] largest = {LongStream.of(sizes).max().orElse(0)};
        try (Tensor all = Tensor.copyOf(largest)) {
            group.sync().broadcast(all, root);
            all.copyTo(largest);
        }
        byte[] value = new byte[Math.toIntExact(largest[0])];
        scatter(group, encoded, each -> Arrays.copyOf(each, value.length), value, root);
        long[] size = new long[1];
        scatter(group, encoded, each -> new long[] {each.length}, size, root);
        return PickledBytes.decode(Arrays.copyOf(value, Math.toIntExact(size[0])));
    }

    /** Scatters what a function makes of the root's values; the result is copied to an array. */
    private static void scatter(
            ProcessGroup group,
            List<byte[]> values,
            Function<byte[], Object> part,
            Object received,
            int root) {
        List<Tensor> inputs = values.stream().map(part).map(Tensor::copyOf).toList();
        try (Tensor output = Tensor.copyOf(received)) {
            group.sync().scatter(output, group.rank() == root ? inputs : null, root);
            output.copyTo(received);
        } finally {
            inputs.forEach(Tensor::close);
        }
    }

    private static long[] sizes(ProcessGroup group, long mine) {
        long[] sizes = new long[group.size()];
        try (Tensor input = Tensor.copyOf(new long[] {mine});
                Tensor output = Tensor.copyOf(sizes)) {
            group.sync().allGatherSingle(output, input);
            return output.copyTo(sizes);
        }
    }

    private static Tensor bytes(long count) {
        return Tensor.allocate(Device.CPU, DataType.INT8, count);
    }

    private static List<Tensor> parts(ProcessGroup group, Tensor whole) {
        long part = whole.count() / group.size();
        return LongStream.range(0, group.size())
                .mapToObj(rank -> whole.slice(rank * part, part))
                .toList();
    }

    private static List<byte[]> cut(ProcessGroup group, Tensor all, int part, long[] sizes) {
        List<byte[]> values = new ArrayList<>();
        for (int rank = 0; rank < group.size(); rank++) {
            byte[] value = new byte[Math.toIntExact(sizes[rank])];
            all.slice((long) rank * part, part).copyTo(value);
            values.add(PickledBytes.decode(value));
        }
        return values;
    }

    private interface Piece {
        void at(int index, int offset);
    }

    private static void each(long[] sizes, Piece piece) {
        int offset = 0;
        for (int i = 0; i < sizes.length; i++) {
            piece.at(i, offset);
            offset += (int) sizes[i];
        }
    }

    private static void copy(byte[] from, byte[] to, int at) {
        if (from != null) {
            System.arraycopy(from, 0, to, at, from.length);
        }
    }
}
