package org.jccl;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.LongStream;

/**
 * The object collectives of {@code torch.distributed}. They send {@code byte[]}, which is {@code
 * bytes} in Python, and other objects through an {@link ObjectCodec} of the program, for instance
 * one for JSON. Sizes may differ between ranks. The methods block, and use the group's backend for
 * host memory.
 *
 * <p>As in Python, sizes are sent first, and objects are padded to the largest if the collective
 * needs equal parts. Only bytes are accepted. A Python object of another type causes a {@link
 * UsageException}; data of a peer is never executed, unlike in Python's unpickling. Wrong arguments
 * are rejected before anything is sent. The exception is an object that is null or cannot be
 * encoded: the rank sends an invalid size, and all Java ranks of the call throw a {@link
 * UsageException}. Python ranks then wait until their timeout.
 */
public final class ObjectCollectives {

    /** Sent instead of the size of an object that could not be encoded. */
    private static final long FAILED = -1;

    private static final ObjectCodec<byte[]> BYTES =
            new ObjectCodec<>() {
                @Override
                public byte[] encode(byte[] value) {
                    return value;
                }

                @Override
                public byte[] decode(byte[] bytes) {
                    return bytes;
                }
            };

    /** The pickles of this rank's objects, or the reason why there are none. */
    private record Pickles(List<byte[]> all, UsageException failure) {

        static final Pickles NONE = new Pickles(List.of(), null);

        static <T> Pickles of(ProcessGroup group, List<T> values, ObjectCodec<T> codec) {
            nonNull(codec, "codec");
            try {
                List<byte[]> all = new ArrayList<>();
                for (T value : values) {
                    byte[] bytes = codec.encode(nonNull(value, "value"));
                    all.add(PickledBytes.encode(nonNull(bytes, "the encoded value")));
                }
                return new Pickles(all, null);
            } catch (UsageException e) {
                return new Pickles(List.of(), e);
            } catch (Exception | Error e) { // the peers wait for a size
                return new Pickles(List.of(), usage(group, "an object cannot be encoded: " + e, e));
            }
        }

        /** The sizes of a number of objects. */
        long[] sizes(int count) {
            long[] sizes = new long[count];
            Arrays.setAll(sizes, i -> failure == null ? all.get(i).length : FAILED);
            return sizes;
        }
    }

    private ObjectCollectives() {}

    /**
     * Corresponds to {@code all_gather_object}.
     *
     * @param group the ranks
     * @param value the value of this rank
     * @return one value for each rank
     * @throws UsageException if an argument is null, a rank passed null or sent something other
     *     than bytes, or the objects are too large for Java arrays
     * @throws JcclException under the conditions of the collectives of the group
     */
    public static List<byte[]> allGather(ProcessGroup group, byte[] value) {
        return allGather(group, value, BYTES);
    }

    /**
     * Same as {@link #allGather(ProcessGroup, byte[])}, with a codec.
     *
     * @param <T> the type of the objects
     * @param group the ranks
     * @param value the value of this rank
     * @param codec encodes and decodes
     * @return one value for each rank
     * @throws UsageException as {@link #allGather(ProcessGroup, byte[])}, if a rank cannot encode
     *     its value, or the codec of this rank cannot decode one
     * @throws JcclException under the conditions of the collectives of the group
     */
    public static <T> List<T> allGather(ProcessGroup group, T value, ObjectCodec<T> codec) {
        nonNull(group, "group");
        Pickles mine = Pickles.of(group, Collections.singletonList(value), codec);
        long[] sizes = sizes(group, mine);
        int largest = largest(group, sizes);
        try (Tensor input = Tensor.copyOf(Arrays.copyOf(mine.all.get(0), largest));
                Tensor output = bytes((long) largest * group.size())) {
            group.sync().allGatherSingle(output, input);
            return cut(group, output, largest, sizes, codec);
        }
    }

    /**
     * Corresponds to {@code gather_object}.
     *
     * @param group the ranks
     * @param value the value of this rank
     * @param root the rank that gets the values
     * @return on the root one value for each rank, elsewhere empty
     * @throws UsageException if an argument is null, the root is not a rank, a rank passed null or
     *     sent something other than bytes, or the objects are too large for Java arrays
     * @throws JcclException under the conditions of the collectives of the group
     */
    public static Optional<List<byte[]>> gather(ProcessGroup group, byte[] value, int root) {
        return gather(group, value, root, BYTES);
    }

    /**
     * Same as {@link #gather(ProcessGroup, byte[], int)}, with a codec.
     *
     * @param <T> the type of the objects
     * @param group the ranks
     * @param value the value of this rank
     * @param root the rank that gets the values
     * @param codec encodes, and decodes on the root
     * @return on the root one value for each rank, elsewhere empty
     * @throws UsageException as {@link #gather(ProcessGroup, byte[], int)}, if a rank cannot encode
     *     its value, or on the root the codec cannot decode one
     * @throws JcclException under the conditions of the collectives of the group
     */
    public static <T> Optional<List<T>> gather(
            ProcessGroup group, T value, int root, ObjectCodec<T> codec) {
        checkRank(group, "root", root);
        Pickles mine = Pickles.of(group, Collections.singletonList(value), codec);
        long[] sizes = sizes(group, mine);
        int largest = largest(group, sizes);
        boolean receives = group.rank() == root;
        try (Tensor input = Tensor.copyOf(Arrays.copyOf(mine.all.get(0), largest));
                Tensor output = bytes(receives ? (long) largest * group.size() : 0)) {
            group.sync().gather(receives ? parts(group, output) : null, input, root);
            return receives
                    ? Optional.of(cut(group, output, largest, sizes, codec))
                    : Optional.empty();
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
        return broadcast(group, values, root, BYTES);
    }

    /**
     * Same as {@link #broadcast(ProcessGroup, List, int)}, with a codec.
     *
     * @param <T> the type of the objects
     * @param group the ranks
     * @param values on the root the values to send, elsewhere a list of the same size with any
     *     values
     * @param root the rank that sends
     * @param codec encodes on the root, and decodes
     * @return the values of the root
     * @throws UsageException as {@link #broadcast(ProcessGroup, List, int)}, if the root cannot
     *     encode a value, or the codec of this rank cannot decode one
     * @throws JcclException under the conditions of the collectives of the group
     */
    public static <T> List<T> broadcast(
            ProcessGroup group, List<T> values, int root, ObjectCodec<T> codec) {
        checkRank(group, "root", root);
        List<T> given = copy(group, values);
        boolean sends = group.rank() == root;
        Pickles mine = Pickles.of(group, sends ? given : List.of(), codec);
        long[] sizes = sends ? mine.sizes(given.size()) : new long[given.size()];
        broadcast(group, sizes, mine, root);
        byte[] joined = new byte[total(group, sizes)];
        each(sizes, (i, at) -> copy(sends ? mine.all.get(i) : null, joined, at));
        try (Tensor all = Tensor.copyOf(joined)) {
            group.sync().broadcast(all, root);
            all.copyTo(joined);
        }
        List<T> received = new ArrayList<>();
        each(
                sizes,
                (i, at) -> {
                    byte[] pickle = Arrays.copyOfRange(joined, at, at + (int) sizes[i]);
                    received.add(decode(group, pickle, codec));
                });
        return received;
    }

    /**
     * Same as {@link #broadcast(ProcessGroup, List, int)}, for one value.
     *
     * @param group the ranks
     * @param value on the root the value to send, elsewhere ignored; may be null there
     * @param root the rank that sends
     * @return the value of the root
     * @throws UsageException as {@link #broadcast(ProcessGroup, List, int)}
     * @throws JcclException under the conditions of the collectives of the group
     */
    public static byte[] broadcastObject(ProcessGroup group, byte[] value, int root) {
        return broadcastObject(group, value, root, BYTES);
    }

    /**
     * Same as {@link #broadcastObject(ProcessGroup, byte[], int)}, with a codec.
     *
     * @param <T> the type of the object
     * @param group the ranks
     * @param value on the root the value to send, elsewhere ignored; may be null there
     * @param root the rank that sends
     * @param codec encodes on the root, and decodes
     * @return the value of the root
     * @throws UsageException as {@link #broadcast(ProcessGroup, List, int, ObjectCodec)}
     * @throws JcclException under the conditions of the collectives of the group
     */
    public static <T> T broadcastObject(
            ProcessGroup group, T value, int root, ObjectCodec<T> codec) {
        return broadcast(group, Collections.singletonList(value), root, codec).get(0);
    }

    /**
     * Sends an object to one rank. Corresponds to {@code send_object_list} with one object.
     *
     * @param group the ranks
     * @param value the value
     * @param peer the rank that calls {@link #recvObject(ProcessGroup, int)}, not this one
     * @throws UsageException if an argument is null, the peer is not another rank, or the object is
     *     too large for Java arrays
     * @throws JcclException under the conditions of {@link SyncCollectives#send(Tensor, int)}
     */
    public static void sendObject(ProcessGroup group, byte[] value, int peer) {
        sendObject(group, value, peer, BYTES);
    }

    /**
     * Same as {@link #sendObject(ProcessGroup, byte[], int)}, with a codec.
     *
     * @param <T> the type of the object
     * @param group the ranks
     * @param value the value
     * @param peer the rank that receives, not this one
     * @param codec encodes
     * @throws UsageException as {@link #sendObject(ProcessGroup, byte[], int)}, or if the value
     *     cannot be encoded; the receiver gets an exception too, unless it is a Python rank
     * @throws JcclException under the conditions of {@link SyncCollectives#send(Tensor, int)}
     */
    public static <T> void sendObject(ProcessGroup group, T value, int peer, ObjectCodec<T> codec) {
        checkRank(group, "peer", peer);
        Pickles mine = Pickles.of(group, Collections.singletonList(value), codec);
        try (Tensor size = Tensor.copyOf(mine.sizes(1))) {
            group.sync().send(size, peer);
        }
        if (mine.failure != null) {
            throw mine.failure;
        }
        try (Tensor pickle = Tensor.copyOf(mine.all.get(0))) {
            group.sync().send(pickle, peer);
        }
    }

    /**
     * Receives an object of one rank. Corresponds to {@code recv_object_list} with one object.
     *
     * @param group the ranks
     * @param peer the rank that calls {@link #sendObject(ProcessGroup, byte[], int)}, not this one
     * @return the value
     * @throws UsageException if the group is null, the peer is not another rank, or it could not
     *     encode its object or sent something other than bytes
     * @throws JcclException under the conditions of {@link SyncCollectives#recv(Tensor, int)}
     */
    public static byte[] recvObject(ProcessGroup group, int peer) {
        return recvObject(group, peer, BYTES);
    }

    /**
     * Same as {@link #recvObject(ProcessGroup, int)}, with a codec.
     *
     * @param <T> the type of the object
     * @param group the ranks
     * @param peer the rank that sends, not this one
     * @param codec decodes
     * @return the value
     * @throws UsageException as {@link #recvObject(ProcessGroup, int)}, or if the codec is null or
     *     cannot decode the object
     * @throws JcclException under the conditions of {@link SyncCollectives#recv(Tensor, int)}
     */
    public static <T> T recvObject(ProcessGroup group, int peer, ObjectCodec<T> codec) {
        checkRank(group, "peer", peer);
        nonNull(codec, "codec");
        long[] size = new long[1];
        try (Tensor received = Tensor.copyOf(size)) {
            group.sync().recv(received, peer);
            received.copyTo(size);
        }
        if (size[0] == FAILED) {
            throw failed(group, Pickles.NONE, peer);
        }
        byte[] pickle = new byte[largest(group, size)];
        try (Tensor received = Tensor.copyOf(pickle)) {
            group.sync().recv(received, peer);
            received.copyTo(pickle);
        }
        return decode(group, pickle, codec);
    }

    /** Sends the root's sizes to all ranks. */
    private static void broadcast(ProcessGroup group, long[] sizes, Pickles mine, int root) {
        try (Tensor all = Tensor.copyOf(sizes)) {
            group.sync().broadcast(all, root);
            all.copyTo(sizes);
        }
        if (Arrays.stream(sizes).anyMatch(size -> size == FAILED)) {
            throw failed(group, mine, root);
        }
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
        return scatter(group, values, root, BYTES);
    }

    /**
     * Same as {@link #scatter(ProcessGroup, List, int)}, with a codec.
     *
     * @param <T> the type of the objects
     * @param group the ranks
     * @param values on the root one value for each rank, elsewhere ignored; may be null there
     * @param root the rank that sends
     * @param codec encodes on the root, and decodes
     * @return the value of this rank
     * @throws UsageException as {@link #scatter(ProcessGroup, List, int)}, if the root cannot
     *     encode a value, or the codec of this rank cannot decode its own
     * @throws JcclException under the conditions of the collectives of the group
     */
    public static <T> T scatter(
            ProcessGroup group, List<T> values, int root, ObjectCodec<T> codec) {
        checkRank(group, "root", root);
        boolean sends = group.rank() == root;
        List<T> given = sends ? copy(group, values) : List.of();
        if (sends && given.size() != group.size()) {
            throw usage(
                    group,
                    "values must hold one value for each of the %s ranks, got %s"
                            .formatted(group.size(), given.size()),
                    null);
        }
        Pickles mine = Pickles.of(group, given, codec);
        long[] largest = {LongStream.of(mine.sizes(given.size())).max().orElse(0)};
        broadcast(group, largest, mine, root);
        byte[] value = new byte[largest(group, largest)];
        scatter(group, mine.all, each -> Arrays.copyOf(each, value.length), value, root);
        long[] size = new long[1];
        scatter(group, mine.all, each -> new long[] {each.length}, size, root);
        if (size[0] < 0 || size[0] > value.length) {
            throw impossible(group, size[0]);
        }
        return decode(group, Arrays.copyOf(value, (int) size[0]), codec);
    }

    /**
     * Scatters the results of a function of the root's values; the result is copied to an array.
     */
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

    private static <T> T nonNull(T value, String name) {
        if (value == null) {
            throw new UsageException(FailureContext.NONE, name + " is null");
        }
        return value;
    }

    private static void checkRank(ProcessGroup group, String name, int rank) {
        nonNull(group, "group");
        if (rank < 0 || rank >= group.size()) {
            throw usage(
                    group,
                    "%s must be a rank of this group, 0 to %s, got %s"
                            .formatted(name, group.size() - 1, rank),
                    null);
        }
    }

    /** Copies the list of a caller, because another thread may change it meanwhile. */
    @SuppressWarnings("unchecked")
    private static <T> List<T> copy(ProcessGroup group, List<T> values) {
        nonNull(values, "values");
        try {
            return (List<T>) Arrays.asList(values.toArray());
        } catch (RuntimeException e) {
            throw usage(group, "values cannot be read: " + e, e);
        }
    }

    private static <T> T decode(ProcessGroup group, byte[] pickle, ObjectCodec<T> codec) {
        byte[] bytes = PickledBytes.decode(pickle);
        try {
            return nonNull(codec.decode(bytes), "the decoded value");
        } catch (UsageException e) {
            throw e;
        } catch (Exception e) {
            throw usage(
                    group,
                    "an object of %s bytes cannot be decoded: %s".formatted(bytes.length, e),
                    e);
        }
    }

    private static UsageException failed(ProcessGroup group, Pickles mine, int rank) {
        return mine.failure != null
                ? mine.failure
                : usage(
                        group,
                        "an object of rank %s is null or cannot be encoded; see the exception on that rank"
                                .formatted(rank),
                        null);
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
                "a rank announced objects of %s bytes, but a Java array holds 0 to %s; check that all ranks make the same call"
                        .formatted(size, PickledBytes.MAX_LENGTH),
                null);
    }

    private static UsageException usage(ProcessGroup group, String problem, Throwable cause) {
        return new UsageException(
                FailureContext.ofGroup(group.name(), group.rank()), problem, cause);
    }

    /** Gathers the size of each rank's object on all ranks. */
    private static long[] sizes(ProcessGroup group, Pickles mine) {
        long[] sizes = new long[group.size()];
        try (Tensor input = Tensor.copyOf(mine.sizes(1));
                Tensor output = Tensor.copyOf(sizes)) {
            group.sync().allGatherSingle(output, input);
            output.copyTo(sizes);
        }
        for (int rank = 0; rank < sizes.length; rank++) {
            if (sizes[rank] == FAILED) {
                throw failed(group, mine, rank);
            }
        }
        return sizes;
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

    private static <T> List<T> cut(
            ProcessGroup group, Tensor all, int part, long[] sizes, ObjectCodec<T> codec) {
        List<T> values = new ArrayList<>();
        for (int rank = 0; rank < group.size(); rank++) {
            byte[] value = new byte[(int) sizes[rank]];
            all.slice((long) rank * part, part).copyTo(value);
            values.add(decode(group, value, codec));
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
