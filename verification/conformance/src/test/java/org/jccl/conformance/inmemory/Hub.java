package org.jccl.conformance.inmemory;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.jccl.DataType;
import org.jccl.spi.Communicator;
import org.jccl.spi.OperationKind;

/**
 * Where the ranks of one group meet. Parts of a collective meet by their number, messages by peer
 * and tag. What does not match stays and waits, as bytes would in a socket.
 */
final class Hub {

    private final int size;
    private final Map<Long, Call[]> collectives = new HashMap<>();
    private final List<Call> sends = new ArrayList<>();
    private final List<Call> receives = new ArrayList<>();

    Hub(int size) {
        this.size = size;
    }

    synchronized void arrive(long number, Call call) {
        Call[] calls = collectives.computeIfAbsent(number, key -> new Call[size]);
        calls[call.rank] = call;
        for (Call one : calls) {
            for (Call other : calls) {
                if (one == null || other == null || !one.matches(other)) {
                    return;
                }
            }
        }
        collectives.remove(number);
        Collectives.run(calls);
        for (Call each : calls) {
            each.done = true;
        }
        notifyAll();
    }

    synchronized void post(Call message) {
        (message.kind == OperationKind.SEND ? sends : receives).add(message);
        for (Iterator<Call> waiting = receives.iterator(); waiting.hasNext(); ) {
            Call receive = waiting.next();
            Call send = firstFor(receive);
            if (send != null && send.count == receive.count && send.type == receive.type) {
                receive.write(send.read(0, send.count));
                receive.source = send.rank;
                receive.done = true;
                send.done = true;
                sends.remove(send);
                waiting.remove();
                notifyAll();
            }
        }
    }

    private Call firstFor(Call receive) {
        for (Call send : sends) {
            boolean from = receive.peer == Communicator.ANY_SOURCE || receive.peer == send.rank;
            if (from && send.peer == receive.rank && send.tag == receive.tag) {
                return send;
            }
        }
        return null;
    }

    /** Takes a rank's calls back: their memory may go. What they were part of never completes. */
    synchronized void withdraw(int rank) {
        Call nothing = new Call(OperationKind.BARRIER, rank, DataType.BOOL);
        nothing.count = -1;
        collectives.values().forEach(calls -> calls[rank] = calls[rank] == null ? null : nothing);
        sends.removeIf(call -> call.rank == rank);
        receives.removeIf(call -> call.rank == rank);
        notifyAll();
    }
}
