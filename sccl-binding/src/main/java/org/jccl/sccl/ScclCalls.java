package org.jccl.sccl;

import org.jccl.DataType;
import org.jccl.spi.DeviceRuntime;
import org.jccl.spi.support.MessageBatch.Message;

/**
 * SCCL's functions on one communicator, for the device's thread. The methods check and translate
 * addresses, convert counts to the library's units, and check result codes. They skip empty
 * operations, as every rank does.
 */
final class ScclCalls implements AutoCloseable {

    final long communicator;
    final int size;
    private final int rank;
    final boolean messages;
    private final TpuMemory memory;
    private TpuQueue queue;

    ScclCalls(long communicator, int rank, int size, boolean messages, TpuMemory memory) {
        this.rank = rank;
        this.memory = memory;
        this.communicator = communicator;
        this.size = size;
        this.messages = messages;
    }

    /** Lets the following calls go to a queue, until {@link #close}. */
    ScclCalls begin(TpuQueue on) {
        queue = on;
        return this;
    }

    /** The queue that calls go to. */
    TpuQueue queue() {
        return queue;
    }

    /** Gives what was enqueued a position. */
    @Override
    public void close() {
        queue.end();
    }

    /** Copies within the device; does nothing if both addresses are the same. */
    void copy(long from, long to, long bytes) {
        if (from != to && bytes > 0) {
            memory.check(from, bytes);
            memory.check(to, bytes);
            queue.copy(
                    TpuRuntime.raw(to),
                    TpuRuntime.raw(from),
                    bytes,
                    DeviceRuntime.Copy.DEVICE_TO_DEVICE);
        }
    }

    /** The address of memory that the call uses, in the form that the call's handle takes. */
    private long virtual(long address, DataType type, long count) {
        memory.check(address, Math.multiplyExact(count, type.size()));
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
                            virtual(address, type, count),
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
                            virtual(input, type, count),
                            virtual(output, type, count),
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
                            virtual(input, type, count),
                            virtual(output, type, count),
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
                            virtual(input, type, count),
                            virtual(output, type, count * size),
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
                            virtual(input, type, count),
                            virtual(output, type, rank == root ? count * size : count),
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
                            virtual(input, type, rank == root ? count * size : count),
                            virtual(output, type, count),
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
                            virtual(input, type, count * size),
                            virtual(output, type, count * size),
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
                            virtual(address, type, count),
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
                            virtual(address, type, count),
                            ScclTypes.count(type, count),
                            ScclTypes.type(type),
                            peer,
                            communicator,
                            queue.handle()),
                    "scclRecv");
        }
    }
}
