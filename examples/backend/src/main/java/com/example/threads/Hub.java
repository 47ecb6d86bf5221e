package com.example.threads;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.IntSupplier;
import org.jccl.DataType;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.PeerLostException;
import org.jccl.spi.Communicator;

/**
 * The meeting point of the ranks of one group, which takes the place of a network. Calls that do
 * not match wait, so that JCCL finds the ranks stuck, compares their calls and reports the
 * difference.
 */
final class Hub {

    private static final int NOBODY = -1;

    /** A collective to which each rank gives bytes for each rank. */
    private static final class Exchange {

        private final String[] calls;
        private final byte[][][] given;
        private final int[][] expected;
        private boolean done;

        Exchange(int size) {
            calls = new String[size];
            given = new byte[size][][];
            expected = new int[size][];
        }

        /** Whether all ranks are here, with the same call and the sizes that others expect. */
        boolean fits() {
            for (int from = 0; from < calls.length; from++) {
                if (calls[from] == null || !calls[from].equals(calls[0])) {
                    return false;
                }
                for (int to = 0; to < calls.length; to++) {
                    if (calls[to] == null || given[from][to].length != expected[to][from]) {
                        return false;
                    }
                }
            }
            return true;
        }

        int firstMissing() {
            return Arrays.asList(calls).indexOf(null);
        }
    }

    /** A message, from either side. */
    static final class Message {

        private final int from;
        private final int to;
        private final int tag;
        private final DataType type;
        private final int length;
        private byte[] elements;
        private int sender = NOBODY;
        private boolean done;

        Message(int from, int to, int tag, DataType type, int length, byte[] elements) {
            this.from = from;
            this.to = to;
            this.tag = tag;
            this.type = type;
            this.length = length;
            this.elements = elements;
        }

        boolean isSend() {
            return elements != null && sender == NOBODY;
        }

        byte[] elements() {
            return elements;
        }

        /** The sender of a received message; none for a send. */
        int sender() {
            return sender;
        }

        boolean isFor(Message receive) {
            return to == receive.to
                    && tag == receive.tag
                    && (receive.from == Communicator.ANY_SOURCE || receive.from == from);
        }

        boolean fits(Message receive) {
            return type == receive.type && length == receive.length;
        }
    }

    private final int size;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final boolean[] joined;
    private final boolean[] gone;
    private final Map<Long, Exchange> exchanges = new HashMap<>();
    private final List<Message> sends = new ArrayList<>();
    private final List<Message> receives = new ArrayList<>();

    Hub(int size) {
        this.size = size;
        this.joined = new boolean[size];
        this.gone = new boolean[size];
    }

    /** Adds a rank, and returns whether it was the last one. */
    boolean join(int rank) {
        lock.lock();
        try {
            joined[rank] = true;
            for (boolean each : joined) {
                if (!each) {
                    return false;
                }
            }
            return true;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Takes part in a collective, and waits for the others.
     *
     * @param number of the collective, the same on all ranks
     * @param rank of the caller
     * @param call a description that must be the same on all ranks
     * @param given bytes for each rank
     * @param expected the number of bytes from each rank
     * @return bytes from each rank
     */
    byte[][] exchange(long number, int rank, String call, byte[][] given, int[] expected) {
        lock.lock();
        try {
            requirePresent(rank);
            Exchange exchange = exchanges.computeIfAbsent(number, made -> new Exchange(size));
            exchange.calls[rank] = call;
            exchange.given[rank] = given;
            exchange.expected[rank] = expected;
            if (exchange.fits()) {
                exchange.done = true;
                exchanges.remove(number);
                changed.signalAll();
            }
            while (!exchange.done) {
                int missing = exchange.firstMissing();
                block(rank, () -> missing != NOBODY && gone[missing] ? missing : NOBODY);
            }
            byte[][] received = new byte[size][];
            Arrays.setAll(received, from -> exchange.given[from][rank]);
            return received;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Starts a message. Messages with one tag between two ranks match in the order of their
     * arrival.
     */
    void post(int rank, Message message) {
        lock.lock();
        try {
            requirePresent(rank);
            (message.isSend() ? sends : receives).add(message);
            for (Iterator<Message> waiting = receives.iterator(); waiting.hasNext(); ) {
                Message receive = waiting.next();
                Message send =
                        sends.stream().filter(each -> each.isFor(receive)).findFirst().orElse(null);
                if (send != null && send.fits(receive)) {
                    receive.elements = send.elements;
                    receive.sender = send.from;
                    receive.done = true;
                    send.done = true;
                    sends.remove(send);
                    waiting.remove();
                    changed.signalAll();
                }
            }
        } finally {
            lock.unlock();
        }
    }

    void await(int rank, Message message) {
        lock.lock();
        try {
            while (!message.done) {
                block(rank, () -> lost(rank, message));
            }
        } finally {
            lock.unlock();
        }
    }

    /** Whether waiting would be over at once, well or not. */
    boolean isOver(int rank, Message message) {
        lock.lock();
        try {
            return message.done || gone[rank] || lost(rank, message) != NOBODY;
        } finally {
            lock.unlock();
        }
    }

    /** Who is gone that a message needs. */
    private int lost(int rank, Message message) {
        int other = message.to == rank ? message.from : message.to;
        if (other != Communicator.ANY_SOURCE) {
            return gone[other] ? other : NOBODY;
        }
        int lost = NOBODY;
        for (int each = 0; each < size; each++) {
            if (each != rank && !gone[each]) {
                return NOBODY;
            }
            lost = each != rank ? each : lost;
        }
        return lost;
    }

    /** Waits for a change, and does not notice interrupts, as no library does. */
    private void block(int rank, IntSupplier lost) {
        requirePresent(rank);
        int peer = lost.getAsInt();
        if (peer != NOBODY) {
            throw new PeerLostException(
                    FailureContext.NONE, "rank " + peer + " has left the group", peer);
        }
        changed.awaitUninterruptibly();
    }

    private void requirePresent(int rank) {
        if (gone[rank]) {
            throw new GroupAbortedException(FailureContext.NONE, "this rank has left the group");
        }
    }

    /** Ends a rank that aborts or closes, and wakes the threads that wait for it. */
    void leave(int rank) {
        lock.lock();
        try {
            gone[rank] = true;
            sends.removeIf(each -> each.from == rank);
            receives.removeIf(each -> each.to == rank);
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }
}
