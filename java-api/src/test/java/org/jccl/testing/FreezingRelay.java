package org.jccl.testing;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;

/**
 * Passes bytes on between clients and a server of this host, and can stop to do so, as a host does
 * that is frozen: connections stay and are still accepted, and nothing comes back.
 */
public final class FreezingRelay implements AutoCloseable {

    private final ServerSocket listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    private final int server;
    private final List<Socket> sockets = new ArrayList<>();
    private boolean frozen;
    private boolean closed;

    /**
     * Starts to relay.
     *
     * @param server port of the server
     * @throws IOException when no port is free
     */
    public FreezingRelay(int server) throws IOException {
        this.server = server;
        start(this::accept);
    }

    private interface Task {
        void run() throws IOException, InterruptedException;
    }

    private static void start(Task task) {
        Thread thread =
                new Thread(
                        () -> {
                            try {
                                task.run();
                            } catch (IOException | InterruptedException end) {
                                // A side has closed, and the other one notices by itself.
                                return;
                            }
                        });
        thread.setDaemon(true);
        thread.start();
    }

    /** Where clients connect to. */
    public int port() {
        return listener.getLocalPort();
    }

    /** Stops to pass anything on. */
    public synchronized void freeze() {
        frozen = true;
    }

    /** Passes on what has come meanwhile, and goes on. */
    public synchronized void thaw() {
        frozen = false;
        notifyAll();
    }

    private void accept() throws IOException {
        while (true) {
            Socket client = listener.accept();
            Socket to = new Socket(InetAddress.getLoopbackAddress(), server);
            synchronized (this) {
                sockets.add(client);
                sockets.add(to);
                if (closed) {
                    close();
                }
            }
            start(() -> pass(client, to));
            start(() -> pass(to, client));
        }
    }

    private void pass(Socket from, Socket to) throws IOException, InterruptedException {
        try (from;
                to) {
            InputStream in = from.getInputStream();
            OutputStream out = to.getOutputStream();
            byte[] bytes = new byte[1 << 16];
            for (int read = in.read(bytes); read >= 0; read = in.read(bytes)) {
                synchronized (this) {
                    while (frozen) {
                        wait();
                    }
                }
                out.write(bytes, 0, read);
            }
        }
    }

    @Override
    public synchronized void close() throws IOException {
        closed = true;
        listener.close();
        for (Socket socket : sockets) {
            socket.close();
        }
        thaw();
    }
}
