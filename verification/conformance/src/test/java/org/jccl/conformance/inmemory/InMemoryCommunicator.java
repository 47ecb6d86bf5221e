package org.jccl.conformance.inmemory;

import java.util.HashMap;
import java.util.Map;
import org.jccl.DataType;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.JcclException;
import org.jccl.ReduceOp;
import org.jccl.spi.Capabilities;
import org.jccl.spi.HostCommunicator;
import org.jccl.spi.OperationKind;

/**
 * One rank's end of a hub. Throws {@link IllegalStateException} where the engine breaks the rules
 * of the SPI, so that tests see what a native library would make a crash of.
 */
final class InMemoryCommunicator implements HostCommunicator {

    private final Hub hub;
    private final int rank;
    private final Map<Long, Call> requests = new HashMap<>();
    private long collectives;
    private long nextRequest = 1;
    private boolean collectiveRuns;
    private int inside;
    private boolean aborted;
    private boolean closed;

    InMemoryCommunicator(Hub hub, int rank) {
        this.hub = hub;
        this.rank = rank;
    }

    @Override
    public Capabilities capabilities() {
        return Capabilities.ALL;
    }

    @Override
    public boolean reduces(ReduceOp op, DataType type) {
        return !type.isFloat8();
    }

    @Override
    public void broadcast(long address, long count, DataType type, int root) {
        collective(call(OperationKind.BROADCAST, address, address, count, type, null, root));
    }

    @Override
    public void allReduce(long input, long output, long count, DataType type, ReduceOp op) {
        collective(call(OperationKind.ALL_REDUCE, input, output, count, type, op, -1));
    }

    @Override
    public void reduce(long input, long output, long count, DataType type, ReduceOp op, int root) {
        collective(call(OperationKind.REDUCE, input, output, count, type, op, root));
    }

    @Override
    public void allGather(long input, long output, long count, DataType type) {
        collective(call(OperationKind.ALL_GATHER, input, output, count, type, null, -1));
    }

    @Override
    public void allGatherV(long input, long output, long[] counts, DataType type) {
        Call call = call(OperationKind.ALL_GATHER_V, input, output, 0, type, null, -1);
        call.outputCounts = counts.clone();
        collective(call);
    }

    @Override
    public void gather(long input, long output, long count, DataType type, int root) {
        collective(call(OperationKind.GATHER, input, output, count, type, null, root));
    }

    @Override
    public void scatter(long input, long output, long count, DataType type, int root) {
        collective(call(OperationKind.SCATTER, input, output, count, type, null, root));
    }

    @Override
    public void reduceScatter(long input, long output, long count, DataType type, ReduceOp op) {
        collective(call(OperationKind.REDUCE_SCATTER, input, output, count, type, op, -1));
    }

    @Override
    public void reduceScatterV(long input, long output, long[] counts, DataType type, ReduceOp op) {
        Call call = call(OperationKind.REDUCE_SCATTER_V, input, output, 0, type, op, -1);
        call.inputCounts = counts.clone();
        collective(call);
    }

    @Override
    public void allToAll(long input, long output, long count, DataType type) {
        collective(call(OperationKind.ALL_TO_ALL, input, output, count, type, null, -1));
    }

    @Override
    public void allToAllV(
            long input, long output, long[] inputCounts, long[] outputCounts, DataType type) {
        Call call = call(OperationKind.ALL_TO_ALL_V, input, output, 0, type, null, -1);
        call.inputCounts = inputCounts.clone();
        call.outputCounts = outputCounts.clone();
        collective(call);
    }

    @Override
    public void barrier() {
        collective(call(OperationKind.BARRIER, 0, 0, 0, DataType.BOOL, null, -1));
    }

    @Override
    public long send(long address, long count, DataType type, int peer, int tag) {
        Call call = call(OperationKind.SEND, address, 0, count, type, null, peer);
        call.tag = tag;
        return message(call);
    }

    @Override
    public long recv(long address, long count, DataType type, int peer, int tag) {
        Call call = call(OperationKind.RECV, 0, address, count, type, null, peer);
        call.tag = tag;
        return message(call);
    }

    private Call call(
            OperationKind kind,
            long input,
            long output,
            long count,
            DataType type,
            ReduceOp op,
            int peer) {
        Call call = new Call(kind, rank, type);
        call.input = input;
        call.output = output;
        call.count = count;
        call.op = op;
        call.peer = peer;
        return call;
    }

    private void collective(Call call) {
        synchronized (hub) {
            requireUsable();
            if (collectiveRuns) {
                throw new IllegalStateException("two collectives run at once");
            }
            hub.arrive(collectives++, call);
            collectiveRuns = true;
            try {
                block(call);
            } finally {
                collectiveRuns = false;
            }
        }
    }

    private long message(Call call) {
        synchronized (hub) {
            requireUsable();
            hub.post(call);
            requests.put(nextRequest, call);
            return nextRequest++;
        }
    }

    private void block(Call call) {
        inside++;
        boolean interrupted = false;
        while (!call.done && !aborted) {
            try {
                hub.wait();
            } catch (InterruptedException e) {
                // A native library would not notice.
                interrupted = true;
            }
        }
        inside--;
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        if (!call.done) {
            throw new GroupAbortedException(FailureContext.NONE, "aborted inside the library");
        }
    }

    @Override
    public boolean test(long request) {
        synchronized (hub) {
            requireOpen();
            return aborted || requests.get(request).done;
        }
    }

    @Override
    public int await(long request) {
        synchronized (hub) {
            requireOpen();
            Call call = requests.remove(request);
            if (call == null) {
                throw new IllegalStateException("request " + request + " is awaited twice");
            }
            block(call);
            return call.source;
        }
    }

    @Override
    public JcclException asynchronousError() {
        synchronized (hub) {
            requireOpen();
            return null;
        }
    }

    private void requireUsable() {
        requireOpen();
        if (aborted) {
            throw new GroupAbortedException(FailureContext.NONE, "aborted before the call");
        }
    }

    private void requireOpen() {
        if (closed) {
            throw new IllegalStateException("used after close");
        }
    }

    @Override
    public void abort() {
        synchronized (hub) {
            requireOpen();
            aborted = true;
            hub.withdraw(rank);
        }
    }

    @Override
    public void close() {
        synchronized (hub) {
            if (inside > 0 || !requests.isEmpty()) {
                throw new IllegalStateException("closed while in use");
            }
            closed = true;
            hub.withdraw(rank);
        }
    }
}
