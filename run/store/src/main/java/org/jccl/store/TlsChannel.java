package org.jccl.store;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLEngineResult;
import javax.net.ssl.SSLEngineResult.HandshakeStatus;
import javax.net.ssl.SSLException;

/**
 * The bytes of a connection with TLS. The server accepts the client's certificate after the client
 * has completed its part of the handshake. It then sends one byte, for which the client waits.
 * Otherwise a client would send requests to a server that has rejected it, and could lose the
 * server's alert.
 *
 * <p>The end of a connection is not authenticated. Each message has a length, so a connection that
 * an attacker closes looks like one that fails.
 */
final class TlsChannel implements StoreChannel {

    private static final ByteBuffer NOTHING = ByteBuffer.allocate(0);
    private static final byte[] ACCEPTED = {1};

    private final SocketChannel channel;
    private final SSLEngine engine;

    /** Encrypted bytes that have arrived; between calls, at most a part of one record. */
    private final ByteBuffer incoming;

    /** Encrypted bytes that the socket has not accepted. */
    private final ByteBuffer outgoing;

    private boolean begun;
    private boolean complete;
    private boolean acceptedWritten;

    TlsChannel(SocketChannel channel, SSLEngine engine) {
        this.channel = channel;
        this.engine = engine;
        int record = engine.getSession().getPacketBufferSize();
        this.incoming = ByteBuffer.allocate(record);
        this.outgoing = ByteBuffer.allocate(record);
    }

    @Override
    public int handshake() throws IOException {
        if (complete) {
            return COMPLETE;
        }
        try {
            if (!begun) {
                engine.beginHandshake();
                begun = true;
            }
            return advance();
        } catch (SSLException e) {
            sendAlert(e);
            throw e;
        }
    }

    private int advance() throws IOException {
        while (isShakingHands()) {
            if (!flush()) {
                return SelectionKey.OP_WRITE;
            }
            if (engine.getHandshakeStatus() == HandshakeStatus.NEED_UNWRAP) {
                if (!unwrap(NOTHING) && !receive()) {
                    return SelectionKey.OP_READ;
                }
            } else {
                wrap(new ByteBuffer[] {NOTHING}, 1);
            }
        }
        return engine.getUseClientMode() ? awaitAccepted() : writeAccepted();
    }

    private boolean isShakingHands() {
        HandshakeStatus status = engine.getHandshakeStatus();
        return status != HandshakeStatus.NOT_HANDSHAKING && status != HandshakeStatus.FINISHED;
    }

    private int writeAccepted() throws IOException {
        if (!acceptedWritten && flush()) {
            wrap(new ByteBuffer[] {ByteBuffer.wrap(ACCEPTED)}, 1);
            acceptedWritten = true;
        }
        complete = acceptedWritten && flush();
        return complete ? COMPLETE : SelectionKey.OP_WRITE;
    }

    private int awaitAccepted() throws IOException {
        if (!flush()) {
            return SelectionKey.OP_WRITE;
        }
        ByteBuffer accepted = ByteBuffer.allocate(readBytes());
        int read = read(accepted);
        if (read < 0) {
            throw ended();
        }
        if (read > 1) {
            throw new IOException("the server sent data before a request");
        }
        complete = read == 1;
        return complete ? COMPLETE : SelectionKey.OP_READ;
    }

    /** Returns whether bytes have arrived. */
    private boolean receive() throws IOException {
        int read = channel.read(incoming);
        if (read < 0) {
            throw ended();
        }
        return read > 0;
    }

    private static EOFException ended() {
        return new EOFException("closed in the TLS handshake");
    }

    /**
     * Sends the reason to the peer. If that fails, the peer only sees the end of the connection.
     */
    private void sendAlert(SSLException reason) {
        try {
            while (engine.getHandshakeStatus() == HandshakeStatus.NEED_WRAP && flush()) {
                wrap(new ByteBuffer[] {NOTHING}, 1);
            }
            flush();
        } catch (IOException e) {
            reason.addSuppressed(e);
        }
    }

    @Override
    public int readBytes() {
        return incoming.capacity();
    }

    @Override
    public int read(ByteBuffer into) throws IOException {
        int before = into.position();
        int read = channel.read(incoming);
        while (unwrap(into)) {
            if (engine.getHandshakeStatus() == HandshakeStatus.NEED_WRAP && flush()) {
                wrap(new ByteBuffer[] {NOTHING}, 1); // the answer to a change of keys
                flush();
            }
        }
        int got = into.position() - before;
        return got == 0 && (read < 0 || engine.isInboundDone()) ? -1 : got;
    }

    /** Decrypts a record. Returns whether there was one. */
    private boolean unwrap(ByteBuffer into) throws SSLException {
        incoming.flip();
        SSLEngineResult result;
        try {
            result = engine.unwrap(incoming, into);
        } finally {
            incoming.compact();
        }
        runTasks();
        return result.bytesConsumed() > 0;
    }

    @Override
    public long write(ByteBuffer[] from, int count) throws IOException {
        long left = 0;
        for (int i = 0; i < count; i++) {
            left += from[i].remaining();
        }
        long taken = 0;
        while (left > taken && flush()) {
            taken += wrap(from, count);
        }
        flush();
        return taken;
    }

    /** Encrypts a record into the empty buffer. Returns the number of bytes that it contains. */
    private int wrap(ByteBuffer[] from, int count) throws IOException {
        SSLEngineResult result = engine.wrap(from, 0, count, outgoing);
        runTasks();
        if (result.getStatus() == SSLEngineResult.Status.CLOSED && result.bytesProduced() == 0) {
            throw new ClosedChannelException();
        }
        return result.bytesConsumed();
    }

    private void runTasks() {
        for (Runnable task = engine.getDelegatedTask();
                task != null;
                task = engine.getDelegatedTask()) {
            task.run();
        }
    }

    @Override
    public boolean flush() throws IOException {
        outgoing.flip();
        try {
            while (outgoing.hasRemaining() && channel.write(outgoing) > 0) {
                // The socket may accept more.
            }
            return !outgoing.hasRemaining();
        } finally {
            outgoing.compact();
        }
    }
}
