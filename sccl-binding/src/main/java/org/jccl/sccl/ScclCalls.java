package org.jccl.sccl;

import org.jccl.DataType;
import org.jccl.spi.MessageBatch.Message;

/**
 * SCCL's functions on one communicator, checked: addresses translated, counts in its units, empty
 * operations left out, which every rank does alike. Whoever calls has begun with the queue.
 */
final class ScclCalls {

    final long communicator;
    final int size;
    final boolean messages;

    ScclCalls(long communicator, int size, boolean messages) {
        this.communicator = communicator;
        this.size = size;
        this.messages = messages;
    }

    /** The address in the form that the call's handle takes. */
    private static long virtual(long handle, long address) {
        return Sccl.scclPhysToVirt(handle, TpuRuntime.raw(address));
    }

    private static void end(TpuQueue queue, int code, String call) {
        ScclErrors.check(code, call);
        queue.push();
    }

    void broadcast(TpuQueue queue, long address, long count, DataType type, int root) {
        if (count > 0) {
            long handle = queue.handle();
            int code =
                    Sccl.scclBroadcast(
                            virtual(handle, address),
                            ScclTypes.count(type, count),
                            ScclTypes.type(type),
                            root,
                            communicator,
                            handle);
            end(queue, code, "scclBroadcast");
        }
    }

    void allReduce(TpuQueue queue, long input, long output, long count, DataType type, int op) {
        if (count > 0) {
            long handle = queue.handle();
            int code =
                    Sccl.scclAllReduce(
                            virtual(handle, input),
                            virtual(handle, output),
                            count,
                            ScclTypes.type(type),
                            op,
                            communicator,
                            handle);
            end(queue, code, "scclAllReduce");
        }
    }

    /** The output is written on all ranks. */
    void reduce(
            TpuQueue queue, long input, long output, long count, DataType type, int op, int root) {
        if (count > 0) {
            long handle = queue.handle();
            int code =
                    Sccl.scclReduce(
                            virtual(handle, input),
                            virtual(handle, output),
                            count,
                            ScclTypes.type(type),
                            op,
                            root,
                            communicator,
                            handle);
            end(queue, code, "scclReduce");
        }
    }

    /** Input and output lie apart. */
    void allGather(TpuQueue queue, long input, long output, long count, DataType type) {
        if (count > 0) {
            long handle = queue.handle();
            int code =
                    Sccl.scclAllGather(
                            virtual(handle, input),
                            virtual(handle, output),
                            ScclTypes.count(type, count),
                            ScclTypes.type(type),
                            communicator,
                            handle);
            end(queue, code, "scclAllGather");
        }
    }

    /** Input and output lie apart; other ranks than root have an output of one part. */
    void gather(TpuQueue queue, long input, long output, long count, DataType type, int root) {
        if (count > 0) {
            long handle = queue.handle();
            int code =
                    Sccl.scclGather(
                            virtual(handle, input),
                            virtual(handle, output),
                            ScclTypes.count(type, count),
                            ScclTypes.type(type),
                            root,
                            communicator,
                            handle);
            end(queue, code, "scclGather");
        }
    }

    /** Input and output lie apart; other ranks than root have an input of one part. */
    void scatter(TpuQueue queue, long input, long output, long count, DataType type, int root) {
        if (count > 0) {
            long handle = queue.handle();
            int code =
                    Sccl.scclScatter(
                            virtual(handle, input),
                            virtual(handle, output),
                            ScclTypes.count(type, count),
                            ScclTypes.type(type),
                            root,
                            communicator,
                            handle);
            end(queue, code, "scclScatter");
        }
    }

    /** The library wants the count of all parts together. */
    void allToAll(TpuQueue queue, long input, long output, long count, DataType type) {
        if (count > 0) {
            long handle = queue.handle();
            int code =
                    Sccl.scclAllToAll(
                            virtual(handle, input),
                            virtual(handle, output),
                            ScclTypes.count(type, count) * size,
                            ScclTypes.type(type),
                            communicator,
                            handle);
            end(queue, code, "scclAllToAll");
        }
    }

    void issue(TpuQueue queue, Message message) {
        if (message.receives()) {
            receive(queue, message.address(), message.count(), message.type(), message.peer());
        } else {
            send(queue, message.address(), message.count(), message.type(), message.peer());
        }
    }

    private void send(TpuQueue queue, long address, long count, DataType type, int peer) {
        if (count > 0) {
            long handle = queue.handle();
            int code =
                    ScclMessages.scclSend(
                            virtual(handle, address),
                            ScclTypes.count(type, count),
                            ScclTypes.type(type),
                            peer,
                            communicator,
                            handle);
            end(queue, code, "scclSend");
        }
    }

    private void receive(TpuQueue queue, long address, long count, DataType type, int peer) {
        if (count > 0) {
            long handle = queue.handle();
            int code =
                    ScclMessages.scclRecv(
                            virtual(handle, address),
                            ScclTypes.count(type, count),
                            ScclTypes.type(type),
                            peer,
                            communicator,
                            handle);
            end(queue, code, "scclRecv");
        }
    }
}
