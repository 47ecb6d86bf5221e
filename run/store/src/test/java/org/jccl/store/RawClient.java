package org.jccl.store;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.Socket;
import java.net.SocketException;

/** A client that sends and expects bytes as they are. */
final class RawClient implements AutoCloseable {

    static final String VALIDATE = "00 ce f7 85 3c";

    final Socket socket;

    RawClient(TcpStoreServer server) throws IOException {
        socket = new Socket(server.address().getAddress(), server.port());
        socket.setTcpNoDelay(true);
    }

    static RawClient validated(TcpStoreServer server) throws IOException {
        return new RawClient(server).send(VALIDATE);
    }

    RawClient send(String trace) throws IOException {
        return send(WireBytes.of(trace));
    }

    RawClient send(byte[] bytes) throws IOException {
        socket.getOutputStream().write(bytes);
        return this;
    }

    RawClient expect(String trace) throws IOException {
        byte[] expected = WireBytes.of(trace);
        assertThat(socket.getInputStream().readNBytes(expected.length))
                .asHexString()
                .isEqualTo(java.util.HexFormat.of().withUpperCase().formatHex(expected));
        return this;
    }

    /** The server has closed the connection and sent nothing more. */
    void expectClosed() throws IOException {
        try {
            assertThat(socket.getInputStream().read()).isEqualTo(-1);
        } catch (SocketException e) {
            // A reset, since the server closed with bytes of ours unread.
            assertThat(e).hasMessageContaining("reset");
        }
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
