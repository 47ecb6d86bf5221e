package org.jccl.torch;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.LongStream;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.ProcessGroup;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.jccl.internal.checks.Require;

/**
 * The object collectives of {@code torch.distributed} for objects that are {@code bytes} in Python
 * and {@code byte[]} in Java. Sizes may differ between ranks. The methods block, and use the
 * backend of the group for host memory.
 *
 * <p>As in Python, sizes are sent first, and objects are padded to the largest if the collective
 * needs equal parts. Only bytes are accepted: an object of another type is a {@link
 * UsageException}, and data of a peer is never executed, as Python's unpickling would. Other
 * exceptions are those of the collectives. Wrong arguments of a rank are rejected before anything
 * is sent.
 */
public final class TorchObjects {

    private TorchObjects() {}

    /**
     * Corresponds to {@code all_gather_object}.
     *
     * @param group the ranks
     * @param value the value of this rank
     * @return one value for each rank
     * @throws UsageException if an argument is null, a rank sent something other than bytes, or the
     *     objects are too large for Java arrays
     * @throws JcclException under the conditions of the collectives of the group
     */
    public static List<byte[]> allGather(ProcessGroup group, byte[] value) {
        Require.nonNull(group, "group");
        byte[] mine = encode(value);
        long[] sizes = sizes(group, mine.length);
        int largest = largest(group, sizes);
        try (Tensor input = Tensor.copyOf(Arrays.copyOf(mine, largest));
                Tensor output = bytes((long) largest * group.size())) {
            group.sync().allGatherSingle(output, input);
            return cut(group, output, largest, sizes);
        }
    }

    /**
     * Corresponds to {@code gather_object}.
     *
     * @param group the ranks
     * @param value the value of this rank
     * @param root the rank that gets the values
     * @return on the root one value for each rank, elsewhere empty
     * @throws UsageException if an argument is null, the root is not a rank, a rank sent something
     *     other than bytes, or the objects are too large for Java arrays
     * @throws JcclException under the conditions of the collectives of the group
     */
    public static Optional<List<byte[]>> gather(ProcessGroup group, byte[] value, int root) {
        checkRoot(group, root);
        byte[] mine = encode(value);
        long[] sizes = sizes(group, mine.length);
        int largest = largest(group, sizes);
        boolean receives = group.rank() == root;
        try (Tensor input = Tensor.copyOf(Arrays.copyOf(mine, largest));
                Tensor output = bytes(receives ? (long) largest * group.size() : 0)) {
            group.sync().gather(receives ? parts(group, output) : null, input, root);
            return receives ? Optional.of(cut(group, output, largest, sizes)) : Optional.empty();
        }
    }

    /**
     * Corresponds to {@code broadcast_object_list}.
     *
     * @param group the ranks
     * @param values on the root the values to send, elsewhere a list of the same size with any
     *     values
     * @param root the rank that sends
     * @return the values of the root
     * @throws UsageException if the list or, on the root, a value of it is null, the root is not a
     *     rank, or it sent something other than bytes or more than Java arrays can hold
     * @throws JcclException under the conditions of the collectives of the group
     */
    public static List<byte[]> broadcast(ProcessGroup group, List<byte[]> values, int root) {
        checkRoot(group, root);
        List<byte[]> given = copy(group, values);
        boolean sends = group.rank() == root;
        List<byte[]> encoded = sends ? given.stream().map(TorchObjects::encode).toList() : null;
        long[] sizes = new long[given.size()];
        if (sends) {
            Arrays.setAll(sizes, i -> encoded.get(i).length);
        }
        try (Tensor all = Tensor.copyOf(sizes)) {
            group.sync().broadcast(all, root);
            all.copyTo(sizes);
        }
        byte[] joined = new byte[total(group, sizes)];
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
     * Corresponds to {@code scatter_object_list}.
     *
     * @param group the ranks
     * @param values on the root one value for each rank, elsewhere ignored; may be null there
     * @param root the rank that sends
     * @return the value of this rank
     * @throws UsageException if the root is not a rank, passes null or not one value for each rank,
     *     or sent something other than bytes or more than Java arrays can hold
     * @throws JcclException under the conditions of the collectives of the group
     */
    public static byte[] scatter(ProcessGroup group, List<byte[]> values, int root) {
        checkRoot(group, root);
        boolean sends = group.rank() == root;
        List<byte[]> given = sends ? copy(group, values) : List.of();
        if (sends && given.size() != group.size()) {
            throw usage(
                    group,
                    "values must hold one for each of the %s ranks, got %s"
                            .formatted(group.size(), given.size()));
        }
        List<byte[]> encoded = given.stream().map(TorchObjects::encode).toList();
        long[] sizes = encoded.stream().mapToLong(each -> each.length).toArray();
        long[] largest = {LongStream.of(sizes).max().orElse(0)};
        try (Tensor all = Tensor.copyOf(largest)) {
            group.sync().broadcast(all, root);
            all.copyTo(largest);
        }
        byte[] value = new byte[largest(group, largest)];
        scatter(group, encoded, each -> Arrays.copyOf(each, value.length), value, root);
        long[] size = new long[1];
        scatter(group, encoded, each -> new long[] {each.length}, size, root);
        if (size[0] < 0 || size[0] > value.length) {
            throw impossible(group, size[0]);
        }
        return PickledBytes.decode(Arrays.copyOf(value, (int) size[0]));
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

    private static void checkRoot(ProcessGroup group, int root) {
        Require.nonNull(group, "group");
        if (root < 0 || root >= group.size()) {
            throw usage(
                    group,
                    "root must be a rank of this group, 0 to %s, got %s"
                            .formatted(group.size() - 1, root));
        }
    }

    /** Copies the list of a caller, because another thread may change it meanwhile. */
    private static List<byte[]> copy(ProcessGroup group, List<byte[]> values) {
        Require.nonNull(values, "values");
        try {
            return Arrays.asList(values.toArray(new byte[0][]));
        } catch (RuntimeException e) {
            throw new UsageException(
                    FailureContext.ofGroup(group.name(), group.rank()),
                    "values cannot be read as a list of byte[]: " + e,
                    e);
        }
    }

    private static byte[] encode(byte[] value) {
        return PickledBytes.encode(Require.nonNull(value, "value"));
    }

    /** Returns the largest size of all ranks, after checking all of them. */
    private static int largest(ProcessGroup group, long[] sizes) {
        long largest = 0;
        for (long size : sizes) {
            if (size < 0 || size > PickledBytes.MAX_LENGTH) {
                throw impossible(group, size);
            }
            largest = Math.max(largest, size);
        }
        return (int) largest;
    }

    private static int total(ProcessGroup group, long[] sizes) {
        largest(group, sizes);
        long total = LongStream.of(sizes).sum();
        if (total > PickledBytes.MAX_LENGTH) {
            throw impossible(group, total);
        }
        return (int) total;
    }

    private static UsageException impossible(ProcessGroup group, long size) {
        return usage(
                group,
                "a rank has objects of %s bytes, expected 0 to %s as Java's arrays hold; do all ranks make the same call?"
                        .formatted(size, PickledBytes.MAX_LENGTH));
    }

    private static UsageException usage(ProcessGroup group, String problem) {
        return new UsageException(FailureContext.ofGroup(group.name(), group.rank()), problem);
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
            byte[] value = new byte[(int) sizes[rank]];
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
