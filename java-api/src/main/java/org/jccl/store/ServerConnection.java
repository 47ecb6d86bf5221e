package org.jccl.store;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;

/** One client's connection: what it has proved, what it waits for, and answers not yet sent. */
final class ServerConnection {

    /** How far a client has come. */
    enum Stage {
        /** Nothing has arrived. */
        CONNECTED,
        /** VALIDATE has arrived, the proof of the secret has not. */
        VALIDATED,
        /** Requests are served. */
        SERVED
    }

    /** What an open WAIT or BARRIER waits for. */
    sealed interface Wait {

        /**
         * @param keys all keys
         * @param next the first one that was missing when last looked
         */
        record ForKeys(List<String> keys, int next) implements Wait {}

        /**
         * @param key the counter
         * @param worldSize what it must reach
         */
        record ForCount(String key, long worldSize) implements Wait {}
    }

    /**
     * Most bytes of answers that wait for a client that does not read. A single answer may be
     * larger: it is the only one then.
     */
    private static final int MAX_BACKLOG = 16 << 20;

    /**
     * Most bytes of one request: what clients can send at once, or less where this process has
     * little memory; at least one value of the largest size and its key.
     */
    private static final long MOST_REQUEST_BYTES =
            Math.max(
                    2L * StoreArguments.MAX_VALUE_BYTES,
                    Math.min(WireBuffer.MAX_BYTES, Runtime.getRuntime().maxMemory() / 8));

    /** Written at once: the platform copies that much to memory outside the heap, and keeps it. */
    private static final int WRITE_BYTES = 256 << 10;

    /** Answers written at once. */
    private static final int PIECES = 64;

    final SocketChannel channel;
    RequestDecoder decoder = new RequestDecoder(MOST_REQUEST_BYTES);
    Stage stage = Stage.CONNECTED;
    byte[] nonce;
    Wait wait;

    private final SelectionKey selection;
    private int interest = SelectionKey.OP_READ;
    private boolean corked;
    private final ByteBuffer[] together = new ByteBuffer[PIECES];
    private final Deque<ByteBuffer> unsent = new ArrayDeque<>();
    private long unsentBytes;

    ServerConnection(SocketChannel channel, SelectionKey selection) {
        this.channel = channel;
        this.selection = selection;
    }

    /** From now on answers are kept until {@link #uncork}, so that many leave together. */
    void cork() {
        corked = true;
    }

    /** Sends the answers that were kept, or as many as the client takes. */
    void uncork() throws IOException {
        corked = false;
        flush();
    }

    /** Sends an answer, or keeps it until the client reads. */
    void send(ByteBuffer answer) throws IOException {
        send(List.of(answer));
    }

    /** Sends an answer that consists of several pieces, or keeps it until the client reads. */
    void send(List<ByteBuffer> answer) throws IOException {
        long bytes = 0;
        for (ByteBuffer piece : answer) {
            bytes += piece.remaining();
        }
        if (corked && unsentBytes + bytes > WRITE_BYTES) {
            flush();
        }
        if (!unsent.isEmpty() && unsentBytes + bytes > MAX_BACKLOG) {
            throw new BadRequestException(
                    "the client does not read: %d bytes of answers wait".formatted(unsentBytes));
        }
        unsent.addAll(answer);
        unsentBytes += bytes;
        if (!corked || unsentBytes > WRITE_BYTES) {
            flush();
        }
    }

    /** Sends what it can. While answers wait, no further requests are read. */
    void flush() throws IOException {
        while (!unsent.isEmpty()) {
            int length = 0;
            int pieces = 0;
            for (ByteBuffer piece : unsent) {
                if (pieces == together.length || length == WRITE_BYTES) {
                    break;
                }
                int part = Math.min(piece.remaining(), WRITE_BYTES - length);
                together[pieces++] = piece.slice(piece.position(), part);
                length += part;
            }
            long sent =
                    pieces == 1 ? channel.write(together[0]) : channel.write(together, 0, pieces);
            Arrays.fill(together, 0, pieces, null);
            unsentBytes -= sent;
            boolean full = sent < length;
            forgetSent(sent);
            if (full) {
                interest(SelectionKey.OP_WRITE);
                return;
            }
        }
        interest(SelectionKey.OP_READ);
    }

    private void forgetSent(long sent) {
        long left = sent;
        while (!unsent.isEmpty()) {
            ByteBuffer first = unsent.peek();
            int part = (int) Math.min(first.remaining(), left);
            first.position(first.position() + part);
            left -= part;
            if (first.hasRemaining()) {
                return;
            }
            unsent.remove();
        }
    }

    private void interest(int operation) {
        if (interest != operation) {
            interest = operation;
            selection.interestOps(operation);
        }
    }

    /** Lets go of the memory of a connection that is gone. */
    void forget() {
        decoder = null;
        unsent.clear();
    }

    @Override
    public String toString() {
        return String.valueOf(channel.socket().getRemoteSocketAddress());
    }
}
