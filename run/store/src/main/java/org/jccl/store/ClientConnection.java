package org.jccl.store;

import java.io.EOFException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.CancelledKeyException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLException;
import org.jccl.spi.Deadline;

/**
 * One connection to a server, used by one thread at a time; another thread may close it. Sending,
 * receiving and connecting throw {@link SocketTimeoutException} at a deadline. Interrupts do not
 * end them; the interrupt flag stays set.
 */
final class ClientConnection implements AutoCloseable {

    private static final int BUFFER_BYTES = 4 << 10;

    /** The first two bytes of an alert, with which a server with TLS answers other messages. */
    private static final int TLS_ALERT = 0x0315;

    private static final int TLS_ALERT_MASK = 0xffff;

    private final SocketChannel channel;
    private final Selector selector;
    private final SelectionKey key;
    private final StoreChannel wire;
    private final ByteBuffer received;
    private boolean unanswered;

    private ClientConnection(SocketChannel channel, Selector selector, TlsContext tls)
            throws IOException {
        this.channel = channel;
        this.selector = selector;
        channel.configureBlocking(false);
        channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
        channel.setOption(StandardSocketOptions.SO_KEEPALIVE, true);
        this.key = channel.register(selector, 0);
        this.wire = StoreChannel.of(channel, tls, true);
        this.received =
                ByteBuffer.allocate(Math.max(BUFFER_BYTES, wire.readBytes()))
                        .order(ByteOrder.LITTLE_ENDIAN)
                        .flip();
    }

    /** Connects and performs the handshake. */
    static ClientConnection open(
            InetSocketAddress address, SharedSecret secret, TlsContext tls, Deadline deadline)
            throws IOException {
        SocketChannel channel = SocketChannel.open();
        Selector selector = null;
        try {
            selector = Selector.open();
            ClientConnection connection = new ClientConnection(channel, selector, tls);
            connection.connect(address, deadline);
            connection.encrypt(deadline);
            connection.handshake(secret, tls, deadline);
            return connection;
        } catch (IOException | RuntimeException e) {
            channel.close();
            if (selector != null) {
                selector.close();
            }
            throw e;
        }
    }

    private void connect(InetSocketAddress address, Deadline deadline) throws IOException {
        boolean connected = channel.connect(address);
        while (!connected) {
            awaitReady(SelectionKey.OP_CONNECT, deadline);
            connected = channel.finishConnect();
        }
    }

    private void encrypt(Deadline deadline) throws IOException {
        try {
            for (int operation = wire.handshake();
                    operation != StoreChannel.COMPLETE;
                    operation = wire.handshake()) {
                awaitReady(operation, deadline);
            }
        } catch (SSLException e) {
            throw new HandshakeException(
                    "the TLS handshake failed: "
                            + e.getMessage()
                            + "; the certificates of both processes must be valid now and signed by an authority of the other's --tls-ca",
                    false);
        } catch (EOFException e) {
            throw new HandshakeException(
                    "it closed the connection in the TLS handshake: it is not a TCPStore server with TLS, or it rejected the certificate of this process",
                    true);
        }
    }

    /** The number of the process, as in PyTorch, unless it looks like an alert. */
    static int nonce(long pid) {
        int nonce = (int) pid;
        return isTlsAlert(nonce) ? ~nonce : nonce;
    }

    private static boolean isTlsAlert(int answer) {
        return (answer & TLS_ALERT_MASK) == TLS_ALERT;
    }

    private void handshake(SharedSecret secret, TlsContext tls, Deadline deadline)
            throws IOException {
        int nonce = nonce(ProcessHandle.current().pid());
        WireBuffer hello = WireBuffer.request(Opcode.VALIDATE).putInt(Opcode.MAGIC);
        try {
            if (secret != null) {
                send(hello.putByte(Opcode.AUTHENTICATE.number()), deadline);
                prove(secret, deadline);
                hello = new WireBuffer();
            }
            send(hello.putByte(Opcode.PING.number()).putInt(nonce), deadline);
            int answer = readInt(deadline);
            if (tls == null && isTlsAlert(answer)) {
                throw new HandshakeException(
                        "it requires TLS, and this process has no certificate (--tls-cert of jccl run, or tls(...))",
                        false);
            }
            if (answer != nonce) {
                throw new HandshakeException(
                        "it is not a TCPStore server: wrong answer to PING", false);
            }
        } catch (EOFException e) {
            throw new HandshakeException(
                    secret == null
                            ? "it closed the connection: it is not a TCPStore server, or it requires a secret or TLS"
                            : "it closed the connection: it has a different secret or none",
                    true);
        }
    }

    private void prove(SharedSecret secret, Deadline deadline) throws IOException {
        byte[] serverNonce = readRaw(SharedSecret.NONCE_BYTES, deadline);
        byte[] clientNonce = SharedSecret.newNonce();
        send(
                WireBuffer.request(Opcode.PROVE)
                        .putRaw(clientNonce)
                        .putRaw(secret.clientProof(serverNonce, clientNonce)),
                deadline);
        byte[] proof = readRaw(SharedSecret.PROOF_BYTES, deadline);
        if (!SharedSecret.matches(secret.serverProof(serverNonce, clientNonce), proof)) {
            throw new HandshakeException("it does not know the secret", false);
        }
    }

    /** Returns whether a request was sent that the server may not have processed. */
    boolean hasUnanswered() {
        return unanswered;
    }

    /**
     * Checks, before a request is sent, that no bytes are unread. They would be taken for the
     * answer to this request, and each later answer would be assigned to the wrong request.
     */
    void requireNothingUnread() throws IOException {
        if (!received.hasRemaining()) {
            received.clear();
            int read = wire.read(received);
            received.flip();
            if (read < 0) {
                throw new EOFException("the server closed the connection");
            }
        }
        if (received.hasRemaining()) {
            throw new IOException(
                    "the server sent %d unexpected bytes".formatted(received.remaining()));
        }
    }

    void send(WireBuffer request, Deadline deadline) throws IOException {
        ByteBuffer bytes = request.finish();
        unanswered = true;
        ByteBuffer[] one = {bytes};
        while (bytes.hasRemaining()) {
            if (wire.write(one, 1) == 0) {
                awaitReady(SelectionKey.OP_WRITE, deadline);
            }
        }
        while (!wire.flush()) {
            awaitReady(SelectionKey.OP_WRITE, deadline);
        }
    }

    byte readByte(Deadline deadline) throws IOException {
        return little(Byte.BYTES, deadline).get();
    }

    int readInt(Deadline deadline) throws IOException {
        return little(Integer.BYTES, deadline).getInt();
    }

    long readLong(Deadline deadline) throws IOException {
        return little(Long.BYTES, deadline).getLong();
    }

    /** Reads an answer, which must be the expected one. */
    void readAnswer(byte expected, Deadline deadline) throws IOException {
        readAnswer(expected, expected, deadline);
    }

    /** Reads an answer, which must be one of two. Returns whether it is the first. */
    boolean readAnswer(byte one, byte other, Deadline deadline) throws IOException {
        byte answer = readByte(deadline);
        if (answer != one && answer != other) {
            throw new IOException("the server answered %d instead of %d".formatted(answer, other));
        }
        return answer == one;
    }

    long readCount(Deadline deadline) throws IOException {
        return readCount(Long.MAX_VALUE, deadline);
    }

    long readCount(long most, Deadline deadline) throws IOException {
        long count = readLong(deadline);
        if (count < 0 || count > most) {
            throw new IOException("the server answered with a count of %d".formatted(count));
        }
        return count;
    }

    /** Reads a length and that many bytes. */
    byte[] readBytes(Deadline deadline) throws IOException {
        long length = readLong(deadline);
        if (length < 0 || length > WireBuffer.MAX_BYTES) {
            throw new IOException(
                    "the server announced a value of " + Long.toUnsignedString(length) + " bytes");
        }
        return readRaw((int) length, deadline);
    }

    private ByteBuffer little(int count, Deadline deadline) throws IOException {
        return ByteBuffer.wrap(readRaw(count, deadline)).order(ByteOrder.LITTLE_ENDIAN);
    }

    private byte[] readRaw(int count, Deadline deadline) throws IOException {
        IncomingBytes incoming = new IncomingBytes(count);
        while (!incoming.fill(received)) {
            received.clear();
            int read = wire.read(received);
            received.flip();
            if (read < 0) {
                throw new EOFException("the server closed the connection");
            }
            if (read == 0) {
                awaitReady(SelectionKey.OP_READ, deadline);
            }
        }
        unanswered = false;
        return incoming.bytes();
    }

    private void awaitReady(int operation, Deadline deadline) throws IOException {
        boolean interrupted = false;
        try {
            key.interestOps(operation);
            do {
                long nanos = deadline.nanosLeft();
                if (nanos == 0) {
                    throw new SocketTimeoutException("no answer in time");
                }
                long millis = TimeUnit.NANOSECONDS.toMillis(nanos) + 1;
                selector.select(millis);
                interrupted |= Thread.interrupted();
            } while (selector.isOpen() && selector.selectedKeys().isEmpty());
            selector.selectedKeys().clear();
        } catch (ClosedSelectorException | CancelledKeyException e) {
            throw new ClosedChannelException();
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    @Override
    public void close() throws IOException {
        channel.close();
        selector.close();
    }

    /** Thrown if the peer is not the expected server. A retry does not help. */
    static final class HandshakeException extends IOException {

        private static final long serialVersionUID = 1L;

        /** Whether the peer closed the connection, as a server that is ending does. */
        private final boolean closed;

        HandshakeException(String message, boolean closed) {
            super(message);
            this.closed = closed;
        }

        boolean closed() {
            return closed;
        }
    }
}
