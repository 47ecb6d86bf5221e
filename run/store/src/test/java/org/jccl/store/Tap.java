package org.jccl.store;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;

/** Passes one connection on to a server, and keeps all bytes of both directions. */
final class Tap implements AutoCloseable {

    private final ServerSocket listener = new ServerSocket(0, 8, InetAddress.getLoopbackAddress());
    private final ByteArrayOutputStream heard = new ByteArrayOutputStream();
    private final Socket server;

    Tap(int port) throws IOException {
        server = new Socket(InetAddress.getLoopbackAddress(), port);
        start(
                () -> {
                    Socket client = listener.accept();
                    start(() -> pass(server.getInputStream(), client.getOutputStream()));
                    pass(client.getInputStream(), server.getOutputStream());
                });
    }

    private interface Task {
        void run() throws IOException;
    }

    private static void start(Task task) {
        Thread thread =
                new Thread(
                        () -> {
                            try {
                                task.run();
                            } catch (IOException e) {
                                return; // one side has closed the connection
                            }
                        });
        thread.setDaemon(true);
        thread.start();
    }

    private void pass(InputStream from, OutputStream to) throws IOException {
        byte[] buffer = new byte[8192];
        for (int read = from.read(buffer); read >= 0; read = from.read(buffer)) {
            heard.write(buffer, 0, read); // synchronized
            to.write(buffer, 0, read);
        }
    }

    int port() {
        return listener.getLocalPort();
    }

    String heard() {
        return heard.toString(StandardCharsets.ISO_8859_1);
    }

    @Override
    public void close() throws IOException {
        listener.close();
        server.close();
    }
}
