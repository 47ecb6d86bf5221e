package org.jccl.store;

import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;

/**
 * A server that says to every client what it was told to, whatever the client says, and leaves: the
 * greeting before the client says anything, each answer when it has said something more.
 */
final class PlayedServer implements Closeable {

    /** Of a client without a secret. */
    private static final int HELLO_BYTES = 10;

    private static final int MAX_REQUEST_BYTES = 1024;

    private record Play(byte[] greeting, byte[]... answers) {}

    private final ServerSocket listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    private final Thread thread = new Thread(this::run, "played server");
    private volatile Play play = new Play(new byte[0]);

    PlayedServer() throws IOException {
        thread.setDaemon(true);
        thread.start();
    }

    int port() {
        return listener.getLocalPort();
    }

    /** Says this to all who come from now on. */
    void play(byte[] greeting, byte[]... answers) {
        this.play = new Play(greeting, answers);
    }

    private void run() {
        while (!listener.isClosed()) {
            try (Socket client = listener.accept()) {
                Play now = play;
                client.getOutputStream().write(now.greeting());
                InputStream requests = client.getInputStream();
                if (now.answers().length > 0) {
                    requests.readNBytes(HELLO_BYTES);
                }
                for (byte[] answer : now.answers()) {
                    if (requests.read(new byte[MAX_REQUEST_BYTES]) > 0) {
                        client.getOutputStream().write(answer);
                    }
                }
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
