package com.example.threads;

import com.example.threads.Hub.Message;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.spi.Capabilities;
import org.jccl.spi.HostCommunicator;
import org.jccl.spi.RefusedOperationException;

/** One rank's end of a {@link Hub}. Its collectives block; its messages can be started. */
final class ThreadsCommunicator implements HostCommunicator {

    private final Hub hub;
    private final int rank;
    private final int size;
    private final Map<Long, Request> requests = new ConcurrentHashMap<>();
    private final AtomicLong lastRequest = new AtomicLong(COMPLETE);
    private long collectives;

    /** A message that was started, and where a receive puts its elements. */
    private record Request(Message message, long address) {}

    ThreadsCommunicator(Hub hub, int rank, int size) {
        this.hub = hub;
        this.rank = rank;
        this.size = size;
    }

    @Override
    public Capabilities capabilities() {
        return Capabilities.ALL;
    }

    @Override
    public boolean reduces(ReduceOp op, DataType type) {
        return Reduction.knows(op, type);
    }

    @Override
    public void broadcast(long address, long count, DataType type, int root) {
        byte[] mine = rank == root ? read(address, count, type) : null;
        byte[][] received =
                exchange("broadcast", type, count, root, toAll(mine), from(root, count, type));
        if (rank != root) {
            write(address, received[root]);
        }
    }

    @Override
    public void allReduce(long input, long output, long count, DataType type, ReduceOp op) {
        byte[][] given = toAll(read(input, count, type));
        byte[][] received =
                exchange("allReduce", type, count, op, given, lengths(equal(count), type));
        write(output, Reduction.of(op, type, received)); // in the order of ranks: all get the same
    }

    @Override
    public void reduce(long input, long output, long count, DataType type, ReduceOp op, int root) {
        byte[][] given = toOne(root, read(input, count, type));
        int[] expected = rank == root ? lengths(equal(count), type) : new int[size];
        byte[][] received = exchange("reduce " + root, type, count, op, given, expected);
        if (rank == root) {
            write(output, Reduction.of(op, type, received));
        }
    }

    @Override
    public void allGather(long input, long output, long count, DataType type) {
        allGatherV(input, output, equal(count), type);
    }

    @Override
    public void allGatherV(long input, long output, long[] counts, DataType type) {
        byte[][] given = toAll(read(input, counts[rank], type));
        write(output, exchange("allGather", type, 0, "", given, lengths(counts, type)));
    }

    @Override
    public void gather(long input, long output, long count, DataType type, int root) {
        byte[][] given = toOne(root, read(input, count, type));
        int[] expected = rank == root ? lengths(equal(count), type) : new int[size];
        byte[][] received = exchange("gather", type, count, root, given, expected);
        if (rank == root) {
            write(output, received);
        }
    }

    @Override
    public void scatter(long input, long output, long count, DataType type, int root) {
        byte[][] given = rank == root ? parts(input, equal(count), type) : toAll(null);
        byte[][] received = exchange("scatter", type, count, root, given, from(root, count, type));
        write(output, received[root]);
    }

    @Override
    public void reduceScatter(long input, long output, long count, DataType type, ReduceOp op) {
        reduceScatterV(input, output, equal(count), type, op);
    }

    @Override
    public void reduceScatterV(long input, long output, long[] counts, DataType type, ReduceOp op) {
        byte[][] given = parts(input, counts, type);
        int[] expected = lengths(equal(counts[rank]), type);
        write(
                output,
                Reduction.of(op, type, exchange("reduceScatter", type, 0, op, given, expected)));
    }

    @Override
    public void allToAll(long input, long output, long count, DataType type) {
        allToAllV(input, output, equal(count), equal(count), type);
    }

    @Override
    public void allToAllV(
            long input, long output, long[] inputCounts, long[] outputCounts, DataType type) {
        byte[][] given = parts(input, inputCounts, type);
        write(output, exchange("allToAll", type, 0, "", given, lengths(outputCounts, type)));
    }

    @Override
    public void barrier() {
        exchange("barrier", DataType.INT8, 0, "", toAll(null), new int[size]);
    }

    @Override
    public long send(long address, long count, DataType type, int peer, int tag) {
        byte[] elements = read(address, count, type);
        return message(new Message(rank, peer, tag, type, elements.length, elements), address);
    }

    @Override
    public long recv(long address, long count, DataType type, int peer, int tag) {
        return message(new Message(peer, rank, tag, type, bytes(count, type), null), address);
    }

    private long message(Message message, long address) {
        hub.post(rank, message);
        Request request = new Request(message, address);
        long number = lastRequest.incrementAndGet();
        requests.put(number, request);
        return number;
    }

    @Override
    public boolean test(long request) {
        return hub.isOver(rank, requests.get(request).message());
    }

    @Override
    public int await(long request) {
        return finish(requests.remove(request));
    }

    private int finish(Request request) {
        Message message = request.message();
        hub.await(rank, message);
        if (message.sender() >= 0) {
            write(request.address(), message.elements());
        }
        return message.sender();
    }

    @Override
    public void abort() {
        hub.leave(rank);
    }

    @Override
    public void close() {
        hub.leave(rank);
    }

    private byte[][] exchange(
            String call, DataType type, long count, Object more, byte[][] given, int[] expected) {
        String said = call + " " + type + " " + count + " " + more;
        return hub.exchange(collectives++, rank, said, given, expected);
    }

    /** The same bytes for all ranks, none for null. */
    private byte[][] toAll(byte[] elements) {
        byte[][] given = new byte[size][];
        Arrays.fill(given, elements == null ? new byte[0] : elements);
        return given;
    }

    private byte[][] toOne(int receiver, byte[] elements) {
        byte[][] given = toAll(null);
        given[receiver] = elements;
        return given;
    }

    private byte[][] parts(long address, long[] counts, DataType type) {
        byte[][] given = new byte[size][];
        long at = address;
        for (int i = 0; i < size; i++) {
            given[i] = read(at, counts[i], type);
            at += given[i].length;
        }
        return given;
    }

    private long[] equal(long count) {
        long[] counts = new long[size];
        Arrays.fill(counts, count);
        return counts;
    }

    private int[] lengths(long[] counts, DataType type) {
        return Arrays.stream(counts).mapToInt(count -> bytes(count, type)).toArray();
    }

    private int[] from(int sender, long count, DataType type) {
        int[] expected = new int[size];
        expected[sender] = bytes(count, type);
        return expected;
    }

    private static int bytes(long count, DataType type) {
        if (count > Integer.MAX_VALUE / type.size()) {
            throw new RefusedOperationException(
                    "'threads' takes 2 GiB at a time; do it in several calls");
        }
        return (int) count * type.size();
    }

    private static byte[] read(long address, long count, DataType type) {
        byte[] elements = new byte[bytes(count, type)];
        return elements.length == 0 ? elements : memory(address, elements).copyTo(elements);
    }

    private static void write(long address, byte[]... parts) {
        long at = address;
        for (byte[] part : parts) {
            if (part.length > 0) {
                memory(at, part).copyFrom(part);
                at += part.length;
            }
        }
    }

    /** A native library takes the address; in Java a tensor is the way to the memory there. */
    private static Tensor memory(long address, byte[] elements) {
        return Tensor.of(address, elements.length, DataType.INT8, Device.CPU, null);
    }
}
