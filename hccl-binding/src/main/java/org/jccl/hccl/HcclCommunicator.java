package org.jccl.hccl;

import java.util.Arrays;
import java.util.List;
import org.jccl.DataType;
import org.jccl.JcclException;
import org.jccl.ReduceOp;
import org.jccl.spi.Capabilities;
import org.jccl.spi.Capabilities.Feature;
import org.jccl.spi.CommunicatorConfig;
import org.jccl.spi.StreamCommunicator;
import org.jccl.spi.support.MessageBatch;
import org.jccl.spi.support.MessageBatch.Message;

/**
 * One rank's {@code HcclComm}. Every operation is enqueued on the given stream. An operation that
 * is empty on all ranks is not issued.
 *
 * <p>Operations that HCCL lacks are built from others; {@code docs/backends/hccl.md} lists how.
 */
final class HcclCommunicator implements StreamCommunicator {

    /** The size of a placeholder for the input and one for the output. */
    private static final int PLACEHOLDER_BYTES = 128;

    /** The most ranks for which a matrix of counts costs less than it saves. */
    private static final int LARGEST_MATRIX = 1024;

    private static final Capabilities CAPABILITIES =
            Capabilities.ALL
                    .withLargestTag(0)
                    .without(Feature.ANY_SOURCE)
                    .with(Feature.SCALED_AVERAGES);

    private final HcclHandle handle;
    private final int rank;
    private final int size;
    private final int device;
    private final Chip chip;
    private final HcclLibraries libraries;
    private final DeviceScratch scratch;
    private final Reductions reductions;
    private final MessageBatch batch = new MessageBatch();
    private final HcclCommunicator world;
    private final int[] worldRanks;

    private final boolean nativeAllGatherV;
    private final boolean nativeAllToAllVc;

    private final long[] inputCounts;
    private final long[] outputCounts;

    /** Device memory for addresses that HCCL requires, whose contents nobody needs. */
    private final long placeholder;

    private long batchStream;
    private boolean closed;

    /**
     * Takes ownership of a communicator.
     *
     * @param communicator an initialised one
     * @param config the configuration from which it was formed
     * @param libraries loaded
     * @param world the communicator from which it was made, or null
     * @param worldRanks the rank in {@code world} of each rank
     */
    HcclCommunicator(
            long communicator,
            CommunicatorConfig config,
            HcclLibraries libraries,
            HcclCommunicator world,
            int[] worldRanks) {
        this.rank = config.rank();
        this.size = config.size();
        this.device = config.device().index();
        this.libraries = libraries;
        this.chip = libraries.chip();
        this.world = world == null ? this : world;
        this.worldRanks = worldRanks;
        this.nativeAllGatherV = chip.gathersParts();
        this.nativeAllToAllVc = chip.has("HcclAlltoAllVC") && size <= LARGEST_MATRIX;
        this.inputCounts = new long[size];
        this.outputCounts = new long[size];
        this.handle =
                new HcclHandle(
                        communicator,
                        config.groupName(),
                        size,
                        device,
                        libraries,
                        HcclHandle.GRACE);
        this.scratch = new DeviceScratch(libraries.runtime());
        this.reductions = new Reductions(rank, size, chip, libraries, scratch);
        this.placeholder = allocatePlaceholder();
    }

    private long allocatePlaceholder() {
        try {
            libraries.runtime().setDevice(device);
            return libraries.runtime().allocate(PLACEHOLDER_BYTES);
        } catch (JcclException | OutOfMemoryError e) {
            handle.close();
            throw e;
        }
    }

    /** The communicator from which sub-communicators are made. */
    HcclCommunicator world() {
        return world;
    }

    /** The rank in {@link #world} of a rank of this communicator. */
    int worldRank(int member) {
        return worldRanks[member];
    }

    HcclHandle handle() {
        return handle;
    }

    @Override
    public Capabilities capabilities() {
        return CAPABILITIES;
    }

    @Override
    public boolean reduces(ReduceOp op, DataType type) {
        return HcclTypes.reduces(chip, op, type, false)
                || HcclTypes.reduces(chip, op, type, true) && libraries.hasOperators();
    }

    @Override
    public void broadcast(long address, long count, DataType type, int root, long stream) {
        if (count > 0) {
            try (HcclCalls calls = handle.enter(stream)) {
                calls.broadcast(address, count, type, root);
            }
        }
    }

    @Override
    public void allReduce(
            long input, long output, long count, DataType type, ReduceOp op, long stream) {
        if (count > 0) {
            try (HcclCalls calls = handle.enter(stream)) {
                reductions.allReduce(calls, input, output, count, type, op);
            }
        }
    }

    @Override
    public void reduce(
            long input,
            long output,
            long count,
            DataType type,
            ReduceOp op,
            int root,
            long stream) {
        if (count > 0) {
            try (HcclCalls calls = handle.enter(stream)) {
                reductions.reduce(calls, input, output, count, type, op, root);
            }
        }
    }

    @Override
    public void reduceScatter(
            long input, long output, long count, DataType type, ReduceOp op, long stream) {
        if (count > 0) {
            try (HcclCalls calls = handle.enter(stream)) {
                reductions.reduceScatter(calls, input, output, count, type, op);
            }
        }
    }

    @Override
    public void reduceScatterV(
            long input, long output, long[] counts, DataType type, ReduceOp op, long stream) {
        if (sum(counts) > 0) {
            try (HcclCalls calls = handle.enter(stream)) {
                reductions.reduceScatterV(calls, input, output, counts, type, op);
            }
        }
    }

    @Override
    public void allGather(long input, long output, long count, DataType type, long stream) {
        if (count > 0) {
            long bytes = count * type.size();
            try (HcclCalls calls = handle.enter(stream)) {
                if (overlaps(input, bytes, output, size * bytes)) {
                    // HCCL does not document whether it gathers in place.
                    long copy = scratch.take(bytes, calls.stream());
                    calls.copy(input, copy, bytes);
                    calls.allGather(copy, output, count, type);
                    scratch.release(calls.stream());
                } else {
                    calls.allGather(input, output, count, type);
                }
            }
        }
    }

    /**
     * {@inheritDoc}
     *
     * <p>If a part is empty, or the device only gathers some placements of ranks, each part is
     * broadcast.
     */
    @Override
    public void allGatherV(long input, long output, long[] counts, DataType type, long stream) {
        long total = sum(counts);
        if (total == 0) {
            return;
        }
        long bytes = counts[rank] * type.size();
        try (HcclCalls calls = handle.enter(stream)) {
            if (nativeAllGatherV
                    && Arrays.stream(counts).allMatch(count -> count > 0)
                    && !overlaps(input, bytes, output, total * type.size())) {
                calls.allGatherV(input, output, counts, rank, type);
                return;
            }
            long mine = output;
            for (int i = 0; i < rank; i++) {
                mine += counts[i] * type.size();
            }
            calls.copy(input, mine, bytes);
            long part = output;
            for (int root = 0; root < size; root++) {
                if (counts[root] > 0) {
                    calls.broadcast(part, counts[root], type, root);
                }
                part += counts[root] * type.size();
            }
        }
    }

    @Override
    public void gather(long input, long output, long count, DataType type, int root, long stream) {
        if (count == 0) {
            return;
        }
        // HCCL has no gather, and must not be given one address for both sides.
        long to = rank == root ? output : placeholder;
        long bytes = count * type.size();
        try (HcclCalls calls = handle.enter(stream)) {
            if (rank == root && input == output + rank * bytes) {
                long copy = scratch.take(bytes, calls.stream());
                calls.copy(input, copy, bytes);
                gather(calls, copy, to, count, type, root);
                scratch.release(calls.stream());
            } else {
                gather(calls, input, to, count, type, root);
            }
        }
    }

    private void gather(
            HcclCalls calls, long input, long output, long count, DataType type, int root) {
        if (nativeAllToAllVc) {
            calls.allToOne(input, output, count, type, root);
            return;
        }
        Arrays.fill(inputCounts, 0);
        inputCounts[root] = count;
        Arrays.fill(outputCounts, rank == root ? count : 0);
        // The displacement of each rank's only part is 0, because the parts before are empty.
        calls.allToAllV(input, output, inputCounts, outputCounts, type);
    }

    @Override
    public void scatter(long input, long output, long count, DataType type, int root, long stream) {
        if (count == 0) {
            return;
        }
        long bytes = count * type.size();
        try (HcclCalls calls = handle.enter(stream)) {
            if (rank == root && output == input + rank * bytes) {
                // The root's part is in place, and HCCL does not document whether it may be.
                long unused = scratch.take(bytes, calls.stream());
                calls.scatter(input, unused, count, type, root);
                scratch.release(calls.stream());
            } else {
                calls.scatter(input, output, count, type, root);
            }
        }
    }

    @Override
    public void allToAll(long input, long output, long count, DataType type, long stream) {
        if (count == 0) {
            return;
        }
        try (HcclCalls calls = handle.enter(stream)) {
            calls.allToAll(input, output, count, type);
        }
    }

    @Override
    public void allToAllV(
            long input,
            long output,
            long[] inputCounts,
            long[] outputCounts,
            DataType type,
            long stream) {
        long from = sum(inputCounts) > 0 ? input : placeholder;
        long to = sum(outputCounts) > 0 ? output : placeholder + PLACEHOLDER_BYTES / 2;
        try (HcclCalls calls = handle.enter(stream)) {
            calls.allToAllV(from, to, inputCounts, outputCounts, type);
        }
    }

    /** {@inheritDoc} Both sides know the count, so neither issues an empty message. */
    @Override
    public void send(long address, long count, DataType type, int peer, int tag, long stream) {
        message(false, address, count, type, peer, stream);
    }

    /** {@inheritDoc} Both sides know the count, so neither issues an empty message. */
    @Override
    public void recv(long address, long count, DataType type, int peer, int tag, long stream) {
        message(true, address, count, type, peer, stream);
    }

    private void message(
            boolean receive, long address, long count, DataType type, int peer, long stream) {
        if (count == 0) {
            return;
        }
        Message message = new Message(receive, address, count, type, peer);
        if (handle.isInside()) {
            batch.add(message);
            batchStream = stream;
            return;
        }
        try (HcclCalls calls = handle.enter(stream)) {
            calls.issue(message);
        }
    }

    @Override
    public void barrier(long stream) {
        // Not HcclBarrier, which fails on a server whose rank table has several layers. This is
        // what
        // PyTorch issues for its barrier, too.
        try (HcclCalls calls = handle.enter(stream)) {
            calls.allReduce(
                    placeholder,
                    placeholder + PLACEHOLDER_BYTES / 2,
                    1,
                    DataType.FLOAT32,
                    ReduceOp.Kind.SUM);
        }
    }

    /** Retains messages until {@link #batchEnd()}; other threads are excluded until then. */
    @Override
    public void batchStart() {
        handle.enter();
    }

    @Override
    public void batchEnd() {
        try {
            List<Message> messages = batch.take();
            if (!messages.isEmpty()) {
                try (HcclCalls calls = handle.enter(batchStream)) {
                    calls.exchange(messages);
                }
            }
        } finally {
            handle.leave();
        }
    }

    @Override
    public JcclException asynchronousError() {
        return handle.asynchronousError();
    }

    @Override
    public void abort() {
        handle.abort();
    }

    @Override
    public void awaitAbort() {
        handle.awaitAbort();
    }

    @Override
    public synchronized void close() {
        if (closed) {
            return;
        }
        closed = true;
        if (!handle.close()) {
            // The device may still use the memory.
            return;
        }
        libraries.runtime().setDevice(device);
        reductions.close();
        scratch.close();
        libraries.runtime().free(placeholder);
    }

    private static long sum(long[] counts) {
        long sum = 0;
        for (long count : counts) {
            sum += count;
        }
        return sum;
    }

    private static boolean overlaps(long one, long oneBytes, long other, long otherBytes) {
        return one < other + otherBytes && other < one + oneBytes;
    }
}
