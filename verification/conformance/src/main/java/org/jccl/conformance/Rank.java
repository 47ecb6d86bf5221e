package org.jccl.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.jccl.Batch;
import org.jccl.DataType;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Store;
import org.jccl.Tensor;
import org.jccl.Work;

/**
 * One rank of a test.
 *
 * @param group the world
 * @param store shared by the ranks, for signals between them
 * @param backend makes and reads tensors
 * @param tensors those that this rank has made
 */
public record Rank(
        ProcessGroup group, Store store, ConformanceBackend backend, RankTensors tensors) {

    int rank() {
        return group.rank();
    }

    int size() {
        return group.size();
    }

    boolean has(Capability capability) {
        return backend.has(capability);
    }

    /** The given tag, or 0 where messages have none. */
    int tag(int wanted) {
        return has(Capability.TAGS) ? wanted : 0;
    }

    /**
     * Has this rank connected with all others. Libraries that connect when they are first used may
     * hold the caller until the others are there.
     */
    void connect() {
        Batch messages = group.batch();
        for (int peer = 0; peer < size(); peer++) {
            if (peer != rank()) {
                messages.send(floats(1), peer, 0).recv(floats(0), peer, 0);
            }
        }
        if (has(Capability.MESSAGES)) {
            messages.issue().forEach(Work::await);
        }
        group.allReduce(floats(1), ReduceOp.SUM).await();
    }

    /** A tensor of integers, exactly represented in its type. */
    Tensor tensor(DataType type, long... values) {
        return bytes(type, Elements.encode(type, values));
    }

    Tensor bytes(DataType type, byte[] elements) {
        Tensor tensor = tensors.add(backend.allocate(type, elements.length / type.size()));
        backend.write(tensor, elements);
        return tensor;
    }

    /** A tensor with no element equal to what tests expect, to be written by an operation. */
    Tensor blank(DataType type, int count) {
        byte[] elements = new byte[count * type.size()];
        Arrays.fill(elements, (byte) 0x5b);
        return bytes(type, elements);
    }

    Tensor floats(long... values) {
        return tensor(DataType.FLOAT32, values);
    }

    /** A tensor of equal elements. */
    Tensor filled(int count, long value) {
        return tensor(DataType.FLOAT32, IntStream.range(0, count).mapToLong(i -> value).toArray());
    }

    /** Tensors of the given counts in one piece of memory. */
    List<Tensor> adjacent(DataType type, long[] counts) {
        Tensor whole = blank(type, Math.toIntExact(Arrays.stream(counts).sum()));
        List<Tensor> parts = new ArrayList<>();
        long offset = 0;
        for (long count : counts) {
            parts.add(whole.slice(offset, count));
            offset += count;
        }
        return parts;
    }

    /** Tensors of the given counts with a gap between each two. */
    List<Tensor> apart(DataType type, long[] counts) {
        long[] withGaps = Arrays.stream(counts).map(count -> count + 1).toArray();
        List<Tensor> parts = new ArrayList<>();
        for (Tensor part : adjacent(type, withGaps)) {
            parts.add(part.slice(0, part.count() - 1));
        }
        return parts;
    }

    void expect(Tensor tensor, byte[] expected, String what) {
        byte[] found = backend.read(tensor);
        int at = Arrays.mismatch(found, expected);
        if (at < 0) {
            return;
        }
        DataType type = tensor.dataType();
        int element = at / type.size();
        assertThat(Elements.decode(type, found))
                .as("rank %d of %d: %s, first wrong element %d", rank(), size(), what, element)
                .isEqualTo(Elements.decode(type, expected));
        throw new AssertionError(
                "rank " + rank() + ": " + what + ": other bits in element " + element);
    }

    void expect(Tensor tensor, long[] expected, String what) {
        expect(tensor, Elements.encode(tensor.dataType(), expected), what);
    }

    /** Tells the other ranks that this one has come to a point. */
    void signal(String point) {
        store.set("signal/" + point, "x".getBytes(StandardCharsets.UTF_8));
        // A set over TCP returns before the server has it; a question does not.
        store.check(List.of("signal/" + point));
    }

    /** Waits for another rank's signal. */
    void awaitSignal(String point) {
        store.await(List.of("signal/" + point), Ranks.TIMEOUT);
    }
}
