package org.jccl.store;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;

/** One client's connection: its handshake, its pending wait and its unsent answers. */
final class ServerConnection {

    /** The stages of a connection. */
    enum Stage {
        /** Nothing has arrived. */
        CONNECTED,
        /** VALIDATE has arrived, but not the proof of the secret. */
        VALIDATED,
        /** Requests are served. */
        SERVED
    }

    /** The condition of a pending WAIT or BARRIER. */
    sealed interface Wait {

        /**
         * @param keys all keys
         * @param next the index of the first key that was missing at the last check
         */
        record ForKeys(List<String> keys, int next) implements Wait {}

        /**
         * @param key the counter
         * @param worldSize the value that it must reach
         */
        record ForCount(String key, long worldSize) implements Wait {}
    }

    /**
     * Maximum bytes of unsent answers for a client that does not read. A single answer may be
     * larger if it is the only one.
     */
    private static final int MAX_BACKLOG = 16 << 20;

    /**
     * Maximum bytes of one request: the clients' limit, or less if this process has little memory,
     * but at least one value of the largest size with its key.
     */
    private static final long MAX_REQUEST_BYTES =
            Math.max(
                    2L * StoreArguments.MAX_VALUE_BYTES,
                    Math.min(WireBuffer.MAX_BYTES, Runtime.getRuntime().maxMemory() / 8));

    /** Maximum bytes of one write, because the JDK retains an off-heap buffer of that size. */
    private static final int WRITE_BYTES = 256 << 10;

    /** Maximum number of buffers in one write. */
    private static final int PIECES = 64;

    final SocketChannel channel;
    final StoreChannel wire;
    RequestDecoder decoder = new RequestDecoder(MAX_REQUEST_BYTES);
    Stage stage = Stage.CONNECTED;
    byte[] nonce;
    Wait wait;

    private final SelectionKey selection;
    private int interest = SelectionKey.OP_READ;
    private boolean corked;
    private final ByteBuffer[] together = new ByteBuffer[PIECES];
    private final Deque<ByteBuffer> unsent = new ArrayDeque<>();
    private long unsentBytes;

    ServerConnection(SocketChannel channel, SelectionKey selection, TlsContext tls) {
        this.channel = channel;
        this.wire = StoreChannel.of(channel, tls, false);
        this.selection = selection;
    }

    /** Buffers answers until {@link #uncork}, so that they are sent together. */
    void cork() {
        corked = true;
    }

    /** Sends the buffered answers, or as many as the socket accepts. */
    void uncork() throws IOException {
        corked = false;
        flush();
    }

    /** Sends an answer, or queues it until the client reads. */
    void send(ByteBuffer answer) throws IOException {
        send(List.of(answer));
    }

    /** Sends an answer of several pieces, or queues it until the client reads. */
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

    /** Sends as much as possible. While answers are unsent, no further requests are read. */
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
            long sent = wire.write(together, pieces);
            Arrays.fill(together, 0, pieces, null);
            unsentBytes -= sent;
            boolean full = sent < length;
            forgetSent(sent);
            if (full) {
                interest(SelectionKey.OP_WRITE);
                return;
            }
        }
        interest(wire.flush() ? SelectionKey.OP_READ : SelectionKey.OP_WRITE);
    }

    /** Advances the handshake. Returns whether requests may be read and answers written. */
    boolean isConnected() throws IOException {
        int operation = wire.handshake();
        if (operation != StoreChannel.COMPLETE) {
            interest(operation);
        }
        return operation == StoreChannel.COMPLETE;
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

    /** Releases the memory of a closed connection. */
    void forget() {
        decoder = null;
        unsent.clear();
    }

    @Override
    public String toString() {
        return String.valueOf(channel.socket().getRemoteSocketAddress());
    }
}
