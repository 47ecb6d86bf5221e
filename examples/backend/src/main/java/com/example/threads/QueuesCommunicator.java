package com.example.threads;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.LongSupplier;
import org.jccl.DataType;
import org.jccl.JcclException;
import org.jccl.ReduceOp;
import org.jccl.spi.Capabilities;
import org.jccl.spi.Capabilities.Feature;
import org.jccl.spi.HostCommunicator;
import org.jccl.spi.StreamCommunicator;

/**
 * A communicator that enqueues on streams and returns. The operations of a {@link
 * ThreadsCommunicator} run there. In a real library, they are kernels.
 *
 * <p>A failed operation stays on its stream until {@link #abort}, so that no event after it
 * completes before the group knows of the failure. The engine asks {@link #asynchronousError} and
 * then aborts.
 */
final class QueuesCommunicator implements StreamCommunicator {

    private final ThreadsCommunicator threads;
    private final QueuesRuntime runtime;
    private final CompletableFuture<Void> aborted = new CompletableFuture<>();
    private volatile JcclException failure;

    // The engine serialises the calls that use these.

    /** Completes after the operations that were enqueued last, on whichever stream that was. */
    private CompletableFuture<Void> last = CompletableFuture.completedFuture(null);

    /** What is in the batch that is open, or null. */
    private List<LongSupplier> batch;

    private long batchStream;

    QueuesCommunicator(ThreadsCommunicator threads, QueuesRuntime runtime) {
        this.threads = threads;
        this.runtime = runtime;
    }

    @Override
    public Capabilities capabilities() {
        return Capabilities.ALL.withLargestTag(0).without(Feature.ANY_SOURCE);
    }

    @Override
    public boolean reduces(ReduceOp op, DataType type) {
        return threads.reduces(op, type);
    }

    @Override
    public JcclException asynchronousError() {
        return failure;
    }

    @Override
    public void abort() {
        threads.abort();
        aborted.complete(null);
    }

    @Override
    public void close() {
        threads.close();
        aborted.complete(null);
    }

    @Override
    public void batchStart() {
        batch = new ArrayList<>();
    }

    @Override
    public void batchEnd() {
        List<LongSupplier> operations = batch;
        batch = null;
        if (!operations.isEmpty()) {
            enqueue(batchStream, operations);
        }
    }

    private void collective(long stream, Runnable collective) {
        enqueue(
                stream,
                () -> {
                    collective.run();
                    return HostCommunicator.COMPLETE;
                });
    }

    private void enqueue(long stream, LongSupplier operation) {
        if (batch == null) {
            enqueue(stream, List.of(operation));
        } else {
            batchStream = stream;
            batch.add(operation);
        }
    }

    /** Operations of one communicator run in the order of the calls, also on several streams. */
    private void enqueue(long stream, List<LongSupplier> operations) {
        CompletableFuture<Void> before = last;
        CompletableFuture<Void> done = new CompletableFuture<>();
        last = done;
        runtime.enqueue(
                stream,
                () -> {
                    before.join();
                    run(operations);
                    done.complete(null);
                });
    }

    /** On the thread of a stream: starts all, so that messages do not wait for each other. */
    private void run(List<LongSupplier> operations) {
        try {
            for (long request : operations.stream().mapToLong(LongSupplier::getAsLong).toArray()) {
                if (request != HostCommunicator.COMPLETE) {
                    threads.await(request);
                }
            }
        } catch (JcclException e) {
            failure = e;
            aborted.join();
        }
    }

    @Override
    public void broadcast(long address, long count, DataType type, int root, long stream) {
        collective(stream, () -> threads.broadcast(address, count, type, root));
    }

    @Override
    public void allReduce(
            long input, long output, long count, DataType type, ReduceOp op, long stream) {
        collective(stream, () -> threads.allReduce(input, output, count, type, op));
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
        collective(stream, () -> threads.reduce(input, output, count, type, op, root));
    }

    @Override
    public void allGather(long input, long output, long count, DataType type, long stream) {
        collective(stream, () -> threads.allGather(input, output, count, type));
    }

    @Override
    public void allGatherV(long input, long output, long[] counts, DataType type, long stream) {
        collective(stream, () -> threads.allGatherV(input, output, counts, type));
    }

    @Override
    public void gather(long input, long output, long count, DataType type, int root, long stream) {
        collective(stream, () -> threads.gather(input, output, count, type, root));
    }

    @Override
    public void scatter(long input, long output, long count, DataType type, int root, long stream) {
        collective(stream, () -> threads.scatter(input, output, count, type, root));
    }

    @Override
    public void reduceScatter(
            long input, long output, long count, DataType type, ReduceOp op, long stream) {
        collective(stream, () -> threads.reduceScatter(input, output, count, type, op));
    }

    @Override
    public void reduceScatterV(
            long input, long output, long[] counts, DataType type, ReduceOp op, long stream) {
        collective(stream, () -> threads.reduceScatterV(input, output, counts, type, op));
    }

    @Override
    public void allToAll(long input, long output, long count, DataType type, long stream) {
        collective(stream, () -> threads.allToAll(input, output, count, type));
    }

    @Override
    public void allToAllV(
            long input,
            long output,
            long[] inputCounts,
            long[] outputCounts,
            DataType type,
            long stream) {
        collective(stream, () -> threads.allToAllV(input, output, inputCounts, outputCounts, type));
    }

    @Override
    public void send(long address, long count, DataType type, int peer, int tag, long stream) {
        enqueue(stream, () -> threads.send(address, count, type, peer, tag));
    }

    @Override
    public void recv(long address, long count, DataType type, int peer, int tag, long stream) {
        enqueue(stream, () -> threads.recv(address, count, type, peer, tag));
    }

    @Override
    public void barrier(long stream) {
        collective(stream, () -> threads.barrier());
    }
}
