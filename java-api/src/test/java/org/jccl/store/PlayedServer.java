package org.jccl.store;

import java.io.Closeable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;

/** A server that says to every client what it was told to, whatever the client says, and leaves. */
final class PlayedServer implements Closeable {

    private final ServerSocket listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    private final Thread thread = new Thread(this::run, "played server");
    private volatile byte[] bytes = {};

    PlayedServer() throws IOException {
        thread.setDaemon(true);
        thread.start();
    }

    int port() {
        return listener.getLocalPort();
    }

    /** Says this to all who come from now on. */
    void play(byte[] bytes) {
        this.bytes = bytes;
    }

    private void run() {
        while (!listener.isClosed()) {
            try (Socket client = listener.accept()) {
                client.getOutputStream().write(bytes);
                client.shutdownOutput();
                client.getInputStream().skip(Long.MAX_VALUE);
            } catch (IOException e) {
                // The client was faster to leave.
            }
        }
    }

    @Override
    public void close() {
        try {
            listener.close();
            thread.join();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
