package org.jccl.sccl;

import org.jccl.DataType;
import org.jccl.spi.support.MessageBatch.Message;

/**
 * SCCL's functions on one communicator, for the thread that has begun with a queue. The methods
 * translate addresses, convert counts to the library's units, and check result codes. They skip
 * empty operations, as every rank does.
 */
final class ScclCalls implements AutoCloseable {

    final long communicator;
    final int size;
    final boolean messages;
    private TpuQueue queue;

    ScclCalls(long communicator, int size, boolean messages) {
        this.communicator = communicator;
        this.size = size;
        this.messages = messages;
    }

    /**
     * Admits the calling thread, alone, to a queue until {@link #close}; what is called meanwhile
     * goes there.
     */
    ScclCalls begin(TpuQueue on) {
        on.begin();
        queue = on;
        return this;
    }

    /** The queue that calls go to. */
    TpuQueue queue() {
        return queue;
    }

    /** Admits other threads to the queue. */
    @Override
    public void close() {
        queue.end();
    }

    /** Copies within the device; does nothing if both addresses are the same. */
    void copy(long from, long to, long bytes) {
        if (from != to && bytes > 0) {
            queue.copyBetweenCalls(TpuRuntime.raw(to), TpuRuntime.raw(from), bytes);
        }
    }

    /** The address in the form that the call's handle takes. */
    private long virtual(long address) {
        return Sccl.scclPhysToVirt(queue.handle(), TpuRuntime.raw(address));
    }

    /** Checks the result of a call and starts what the call has prepared. */
    private void issued(int code, String call) {
        ScclErrors.check(code, call);
        queue.push();
    }

    void broadcast(long address, long count, DataType type, int root) {
        if (count > 0) {
            issued(
                    Sccl.scclBroadcast(
                            virtual(address),
                            ScclTypes.count(type, count),
                            ScclTypes.type(type),
                            root,
                            communicator,
                            queue.handle()),
                    "scclBroadcast");
        }
    }

    void allReduce(long input, long output, long count, DataType type, int op) {
        if (count > 0) {
            issued(
                    Sccl.scclAllReduce(
                            virtual(input),
                            virtual(output),
                            count,
                            ScclTypes.type(type),
                            op,
                            communicator,
                            queue.handle()),
                    "scclAllReduce");
        }
    }

    /** The output is written on all ranks. */
    void reduce(long input, long output, long count, DataType type, int op, int root) {
        if (count > 0) {
            issued(
                    Sccl.scclReduce(
                            virtual(input),
                            virtual(output),
                            count,
                            ScclTypes.type(type),
                            op,
                            root,
                            communicator,
                            queue.handle()),
                    "scclReduce");
        }
    }

    /** Input and output must not overlap. */
    void allGather(long input, long output, long count, DataType type) {
        if (count > 0) {
            issued(
                    Sccl.scclAllGather(
                            virtual(input),
                            virtual(output),
                            ScclTypes.count(type, count),
                            ScclTypes.type(type),
                            communicator,
                            queue.handle()),
                    "scclAllGather");
        }
    }

    /** Input and output must not overlap. Ranks other than the root have an output of one part. */
    void gather(long input, long output, long count, DataType type, int root) {
        if (count > 0) {
            issued(
                    Sccl.scclGather(
                            virtual(input),
                            virtual(output),
                            ScclTypes.count(type, count),
                            ScclTypes.type(type),
                            root,
                            communicator,
                            queue.handle()),
                    "scclGather");
        }
    }

    /** Input and output must not overlap. Ranks other than the root have an input of one part. */
    void scatter(long input, long output, long count, DataType type, int root) {
        if (count > 0) {
            issued(
                    Sccl.scclScatter(
                            virtual(input),
                            virtual(output),
                            ScclTypes.count(type, count),
                            ScclTypes.type(type),
                            root,
                            communicator,
                            queue.handle()),
                    "scclScatter");
        }
    }

    /** The library takes the count of all parts together. */
    void allToAll(long input, long output, long count, DataType type) {
        if (count > 0) {
            issued(
                    Sccl.scclAllToAll(
                            virtual(input),
                            virtual(output),
                            ScclTypes.count(type, count) * size,
                            ScclTypes.type(type),
                            communicator,
                            queue.handle()),
                    "scclAllToAll");
        }
    }

    void issue(Message message) {
        if (message.receives()) {
            receive(message.address(), message.count(), message.type(), message.peer());
        } else {
            send(message.address(), message.count(), message.type(), message.peer());
        }
    }

    private void send(long address, long count, DataType type, int peer) {
        if (count > 0) {
            issued(
                    ScclMessages.scclSend(
                            virtual(address),
                            ScclTypes.count(type, count),
                            ScclTypes.type(type),
                            peer,
                            communicator,
                            queue.handle()),
                    "scclSend");
        }
    }

    private void receive(long address, long count, DataType type, int peer) {
        if (count > 0) {
            issued(
                    ScclMessages.scclRecv(
                            virtual(address),
                            ScclTypes.count(type, count),
                            ScclTypes.type(type),
                            peer,
                            communicator,
                            queue.handle()),
                    "scclRecv");
        }
    }
}
