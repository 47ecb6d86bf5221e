package org.jccl.nccl;

import java.util.Optional;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.Interop;
import org.jccl.JcclException;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.jccl.nccl.NcclOptions.Registration;
import org.jccl.spi.BoundedCall;
import org.jccl.spi.Capabilities;
import org.jccl.spi.Capabilities.Feature;
import org.jccl.spi.Communicator;
import org.jccl.spi.CommunicatorConfig;
import org.jccl.spi.StreamCommunicator;

/**
 * One rank's ncclComm. Every operation is enqueued on the given stream.
 *
 * <p>Operations that NCCL lacks are built as groups of others: parts of different sizes are
 * broadcasts, reductions or messages in a group. On older libraries, so are the collectives that
 * are new in 2.28.
 */
final class NcclCommunicator implements StreamCommunicator {

    /** Messages have no tags, and each names its peer. */
    private static final Capabilities CAPABILITIES =
            Capabilities.ALL
                    .withLargestTag(0)
                    .without(Feature.ANY_SOURCE)
                    .with(Feature.SPLIT, Feature.SCALED_AVERAGES);

    /** PyTorch's newer backend has other calls for lists than for one tensor of all parts. */
    private static final Capabilities LISTS_APART =
            CAPABILITIES.with(Feature.SEPARATE_LIST_REDUCTION, Feature.SEPARATE_LIST_GATHERING);

    private final NcclHandle handle;
    private final Capabilities capabilities;
    private final Optional<NcclPairs> pairs;
    private final int rank;
    private final int size;
    private final int device;
    private final boolean float8;
    private final CommunicatorConfig alone;
    private final boolean nativeAllToAll = NcclNative.has("ncclAlltoAll");
    private final boolean nativeGather = NcclNative.has("ncclGather");
    private final boolean nativeScatter = NcclNative.has("ncclScatter");
    private final Registration registration;
    private final long barrierMemory;
    private boolean closed;

    /**
     * Takes ownership of a communicator.
     *
     * @param handle of the communicator
     * @param config the configuration from which it was formed
     * @param float8 whether the devices reduce float8
     */
    NcclCommunicator(NcclHandle handle, CommunicatorConfig config, boolean float8) {
        this.rank = config.rank();
        this.size = config.size();
        this.device = config.device().index();
        this.float8 = float8;
        this.alone = NcclConnector.alone(config);
        this.handle = handle;
        this.capabilities = NcclKeys.isNewer(config.interop()) ? LISTS_APART : CAPABILITIES;
        this.pairs =
                config.interop() == Interop.TORCH
                        ? Optional.of(new NcclPairs(config))
                        : Optional.empty();
        this.registration =
                config.options(NcclOptions.class)
                        .map(NcclOptions::registration)
                        .orElse(Registration.ON_REQUEST);
        this.barrierMemory = allocateBarrierMemory();
    }

    /**
     * Allocates the memory of barriers. Ends the communicator if that fails, because no other
     * object owns it.
     */
    private long allocateBarrierMemory() {
        try {
            CudaRuntime.enter(device);
            if (registration == Registration.AUTOMATIC) {
                NcclRegistrations.registerAll(handle);
            }
            long memory = CudaErrors.value(NcclNative.cudaMalloc(Float.BYTES), "cudaMalloc");
            if (memory == 0) {
                throw new OutOfMemoryError("cudaMalloc of 4 bytes returned success and no memory");
            }
            return memory;
        } catch (JcclException | OutOfMemoryError e) {
            handle.abort();
            handle.close();
            throw e;
        }
    }

    @Override
    public Capabilities capabilities() {
        return capabilities;
    }

    @Override
    public boolean reduces(ReduceOp op, DataType type) {
        return NcclTypes.reduces(op, type, float8);
    }

    @Override
    public void broadcast(long address, long count, DataType type, int root, long stream) {
        try (NcclCalls calls = handle.enter(stream)) {
            calls.broadcast(address, address, count, type, root, stream);
        }
    }

    @Override
    public void allReduce(
            long input, long output, long count, DataType type, ReduceOp op, long stream) {
        try (NcclCalls calls = handle.enter(stream)) {
            int operation = calls.operation(op, type);
            calls.allReduce(input, output, count, type, operation, stream);
            calls.release(op, operation);
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
        try (NcclCalls calls = handle.enter(stream)) {
            int operation = calls.operation(op, type);
            calls.reduce(input, output, count, type, operation, root, stream);
            calls.release(op, operation);
        }
    }

    @Override
    public void allGather(long input, long output, long count, DataType type, long stream) {
        try (NcclCalls calls = handle.enter(stream)) {
            calls.allGather(input, output, count, type, stream);
        }
    }

    @Override
    public void allGatherV(long input, long output, long[] counts, DataType type, long stream) {
        try (NcclCalls calls = handle.enter(stream)) {
            calls.groupStart();
            try {
                long part = output;
                for (int root = 0; root < size; root++) {
                    if (counts[root] > 0) {
                        long from = root == rank ? input : part;
                        calls.broadcast(from, part, counts[root], type, root, stream);
                    }
                    part += counts[root] * type.size();
                }
            } catch (RuntimeException | Error e) {
                calls.groupEndAfter(e);
                throw e;
            }
            calls.groupEnd();
        }
    }

    @Override
    public void gather(long input, long output, long count, DataType type, int root, long stream) {
        try (NcclCalls calls = handle.enter(stream)) {
            // NCCL skips an empty gather, for which PyTorch's ranks send messages.
            if (nativeGather && count > 0) {
                calls.gather(input, output, count, type, root, stream);
                return;
            }
            calls.groupStart();
            try {
                calls.send(input, count, type, root, stream);
                for (int peer = 0; peer < size && rank == root; peer++) {
                    long part = output + peer * count * type.size();
                    calls.receive(part, count, type, peer, stream);
                }
            } catch (RuntimeException | Error e) {
                calls.groupEndAfter(e);
                throw e;
            }
            calls.groupEnd();
        }
    }

    @Override
    public void scatter(long input, long output, long count, DataType type, int root, long stream) {
        try (NcclCalls calls = handle.enter(stream)) {
            if (nativeScatter && count > 0) {
                calls.scatter(input, output, count, type, root, stream);
                return;
            }
            calls.groupStart();
            try {
                for (int peer = 0; peer < size && rank == root; peer++) {
                    long part = input + peer * count * type.size();
                    calls.send(part, count, type, peer, stream);
                }
                calls.receive(output, count, type, root, stream);
            } catch (RuntimeException | Error e) {
                calls.groupEndAfter(e);
                throw e;
            }
            calls.groupEnd();
        }
    }

    @Override
    public void reduceScatter(
            long input, long output, long count, DataType type, ReduceOp op, long stream) {
        try (NcclCalls calls = handle.enter(stream)) {
            int operation = calls.operation(op, type);
            calls.reduceScatter(input, output, count, type, operation, stream);
            calls.release(op, operation);
        }
    }

    @Override
    public void reduceScatterV(
            long input, long output, long[] counts, DataType type, ReduceOp op, long stream) {
        try (NcclCalls calls = handle.enter(stream)) {
            int operation = calls.operation(op, type);
            calls.groupStart();
            try {
                long part = input;
                for (int root = 0; root < size; root++) {
                    if (counts[root] > 0) {
                        calls.reduce(part, output, counts[root], type, operation, root, stream);
                    }
                    part += counts[root] * type.size();
                }
            } catch (RuntimeException | Error e) {
                calls.groupEndAfter(e);
                throw e;
            }
            calls.groupEnd();
            calls.release(op, operation);
        }
    }

    @Override
    public void allToAll(long input, long output, long count, DataType type, long stream) {
        try (NcclCalls calls = handle.enter(stream)) {
            if (nativeAllToAll) {
                calls.allToAll(input, output, count, type, stream);
                return;
            }
            calls.groupStart();
            try {
                for (int peer = 0; peer < size; peer++) {
                    long offset = peer * count * type.size();
                    calls.send(input + offset, count, type, peer, stream);
                    calls.receive(output + offset, count, type, peer, stream);
                }
            } catch (RuntimeException | Error e) {
                calls.groupEndAfter(e);
                throw e;
            }
            calls.groupEnd();
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
        try (NcclCalls calls = handle.enter(stream)) {
            calls.groupStart();
            try {
                long from = input;
                long to = output;
                for (int peer = 0; peer < size; peer++) {
                    calls.send(from, inputCounts[peer], type, peer, stream);
                    calls.receive(to, outputCounts[peer], type, peer, stream);
                    from += inputCounts[peer] * type.size();
                    to += outputCounts[peer] * type.size();
                }
            } catch (RuntimeException | Error e) {
                calls.groupEndAfter(e);
                throw e;
            }
            calls.groupEnd();
        }
    }

    @Override
    public void send(long address, long count, DataType type, int peer, int tag, long stream) {
        if (pairs.isPresent() && !handle.isInside()) {
            try (NcclCalls calls = pairs.get().enter(peer, stream)) {
                calls.send(address, count, type, pairs.get().rankOf(peer), stream);
            }
            return;
        }
        try (NcclCalls calls = handle.enter(stream)) {
            calls.send(address, count, type, peer, stream);
        }
    }

    @Override
    public void recv(long address, long count, DataType type, int peer, int tag, long stream) {
        if (pairs.isPresent() && !handle.isInside()) {
            try (NcclCalls calls = pairs.get().enter(peer, stream)) {
                calls.receive(address, count, type, pairs.get().rankOf(peer), stream);
            }
            return;
        }
        try (NcclCalls calls = handle.enter(stream)) {
            calls.receive(address, count, type, peer, stream);
        }
    }

    @Override
    public void barrier(long stream) {
        allReduce(barrierMemory, barrierMemory, 1, DataType.FLOAT32, ReduceOp.SUM, stream);
    }

    @Override
    public void register(long address, long bytes) {
        NcclRegistrations.register(handle, address, bytes, registration == Registration.WINDOWS);
    }

    @Override
    public Optional<Tensor> allocate(Device on, DataType type, long count) {
        if (registration == Registration.ON_REQUEST) {
            return Optional.empty();
        }
        Tensor tensor = NcclMemory.allocate(on, type, count);
        try {
            register(tensor.address(), count * type.size());
        } catch (JcclException e) {
            tensor.close();
            throw e;
        }
        return Optional.of(tensor);
    }

    @Override
    public Communicator split(int color, CommunicatorConfig config) {
        if (color > Integer.MAX_VALUE - size) {
            throw new UsageException(
                    FailureContext.NONE,
                    "color %d is too large for NCCL: colors above %d are given to ranks without one; use a smaller color"
                            .formatted(color, Integer.MAX_VALUE - size));
        }
        return NcclConnector.split(handle, size, color, config);
    }

    @Override
    public void declineSplit() {
        NcclConnector.declineSplit(handle, Integer.MAX_VALUE - rank, alone);
    }

    /** Opens a native group; this thread stays inside until {@link #batchEnd()}. */
    @Override
    @SuppressWarnings("resource") // batchEnd leaves.
    public void batchStart() {
        NcclCalls calls = handle.enter();
        try {
            calls.groupStart();
        } catch (JcclException e) {
            calls.close();
            throw e;
        }
    }

    @Override
    public void batchEnd() {
        try (NcclCalls calls = handle.inside()) {
            calls.groupEnd();
        }
    }

    @Override
    public JcclException asynchronousError() {
        JcclException error = handle.asynchronousError();
        return error != null || pairs.isEmpty() ? error : pairs.get().asynchronousError();
    }

    @Override
    public void abort() {
        handle.abort();
        pairs.ifPresent(NcclPairs::abort);
    }

    @Override
    public void awaitAbort() {
        handle.awaitAbort();
    }

    private void freeBarrierMemory() {
        CudaRuntime.enter(device);
        CudaErrors.check(NcclNative.cudaFree(barrierMemory), "cudaFree");
    }

    @Override
    public synchronized void close() {
        if (closed) {
            return;
        }
        closed = true;
        pairs.ifPresent(NcclPairs::close);
        if (!handle.close()) {
            // NCCL may still use the memory.
            return;
        }
        // On a separate thread, because it waits for all commands of the device, including those of
        // other groups.
        BoundedCall.start("jccl-nccl-free-" + handle.group(), this::freeBarrierMemory);
    }
}
