package org.jccl.testing;

import java.io.IOException;
import java.net.BindException;
import java.net.ServerSocket;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Ports for servers of tests. They are below those that Linux gives to outgoing connections, one of
 * which would take the port between two servers of a test.
 */
public final class FreePort {

    private static final int FIRST = 10_000;
    private static final int END = 32_000;

    private FreePort() {}

    /**
     * Returns a port that nobody uses.
     *
     * @return the port, on all addresses of this host
     * @throws IOException if there are no sockets
     */
    public static int next() throws IOException {
        while (true) {
            int port = ThreadLocalRandom.current().nextInt(FIRST, END);
            try (ServerSocket free = new ServerSocket(port)) {
                return free.getLocalPort();
            } catch (BindException e) {
                continue; // of another test
            }
        }
    }
}
