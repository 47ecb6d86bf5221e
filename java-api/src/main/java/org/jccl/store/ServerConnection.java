package org.jccl.store;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
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

    final SocketChannel channel;
    RequestDecoder decoder = new RequestDecoder(MOST_REQUEST_BYTES);
    Stage stage = Stage.CONNECTED;
    byte[] nonce;
    Wait wait;

    private final SelectionKey selection;
    private final Deque<ByteBuffer> unsent = new ArrayDeque<>();
    private long unsentBytes;

    ServerConnection(SocketChannel channel, SelectionKey selection) {
        this.channel = channel;
        this.selection = selection;
    }

    /** Sends an answer, or keeps it until the client reads. */
    void send(ByteBuffer answer) throws IOException {
        send(List.of(answer));
    }

    /** Sends an answer that consists of several pieces, or keeps it until the client reads. */
    void send(List<ByteBuffer> answer) throws IOException {
        long bytes = answer.stream().mapToLong(ByteBuffer::remaining).sum();
        if (!unsent.isEmpty() && unsentBytes + bytes > MAX_BACKLOG) {
            throw new BadRequestException(
                    "the client does not read: %d bytes of answers wait".formatted(unsentBytes));
        }
        unsent.addAll(answer);
        unsentBytes += bytes;
        flush();
    }

    /** Sends what it can. While answers wait, no further requests are read. */
    void flush() throws IOException {
        while (!unsent.isEmpty()) {
            ByteBuffer first = unsent.peek();
            int length = Math.min(first.remaining(), WRITE_BYTES);
            int sent = channel.write(first.slice(first.position(), length));
            first.position(first.position() + sent);
            unsentBytes -= sent;
            if (sent < length) {
                selection.interestOps(SelectionKey.OP_WRITE);
                return;
            }
            if (!first.hasRemaining()) {
                unsent.remove();
            }
        }
        selection.interestOps(SelectionKey.OP_READ);
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
