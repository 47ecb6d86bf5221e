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

    final SocketChannel channel;
    final RequestDecoder decoder = new RequestDecoder();
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
        if (!unsent.isEmpty() && unsentBytes + answer.remaining() > MAX_BACKLOG) {
            throw new BadRequestException(
                    "the client does not read: %d bytes of answers wait".formatted(unsentBytes));
        }
        unsent.add(answer);
        unsentBytes += answer.remaining();
        flush();
    }

    /** Sends what it can. While answers wait, no further requests are read. */
    void flush() throws IOException {
        while (!unsent.isEmpty()) {
            unsentBytes -= channel.write(unsent.peek());
            if (unsent.peek().hasRemaining()) {
                selection.interestOps(SelectionKey.OP_WRITE);
                return;
            }
            unsent.remove();
        }
        selection.interestOps(SelectionKey.OP_READ);
    }

    @Override
    public String toString() {
        return String.valueOf(channel.socket().getRemoteSocketAddress());
    }
}
