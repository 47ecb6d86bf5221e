package org.jccl.store;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.List;

/**
 * A process with many connections to one server, each of which waits for a key. It has its own file
 * descriptors, so the server's process needs only one a connection. Prints a line when all wait and
 * another when all were released.
 */
public final class ManyClients {

    private ManyClients() {}

    /**
     * Runs the clients.
     *
     * @param args the port and the number of connections
     * @throws IOException when a connection fails
     */
    public static void main(String[] args) throws IOException {
        InetSocketAddress server =
                new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.parseInt(args[0]));
        int count = Integer.parseInt(args[1]);
        byte[] hello =
                WireBytes.of(RawClient.VALIDATE + " 06 01 00x7 03 00x7 '/go' 0d 01 02 03 04");
        List<SocketChannel> clients = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            SocketChannel client = SocketChannel.open(server);
            client.write(ByteBuffer.wrap(hello));
            clients.add(client);
        }
        expect(clients, "01 02 03 04");
        System.out.println("waiting");
        expect(clients, "00");
        System.out.println("released");
    }

    private static void expect(List<SocketChannel> clients, String trace) throws IOException {
        ByteBuffer expected = ByteBuffer.wrap(WireBytes.of(trace));
        ByteBuffer got = ByteBuffer.allocate(expected.remaining());
        for (SocketChannel client : clients) {
            got.clear();
            while (got.hasRemaining() && client.read(got) >= 0) {
                Thread.onSpinWait();
            }
            if (!got.flip().equals(expected)) {
                throw new IOException("wrong answer: " + got);
            }
        }
    }
}
