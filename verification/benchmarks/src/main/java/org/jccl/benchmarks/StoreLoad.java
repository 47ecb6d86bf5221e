package org.jccl.benchmarks;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;
import java.util.stream.Stream;
import org.jccl.store.TcpStore;
import org.jccl.store.TcpStoreServer;

/**
 * One load for several servers of TCPStore's protocol, which take turns within each second. {@code
 * script/bench/store} starts the servers and this, and compares.
 *
 * <p>Latencies are those of {@link TcpStore}, one call after the other. For throughput one thread
 * speaks the protocol on all connections, so that it costs less than the server: it sends a request
 * on each and then reads the answer of each.
 */
public final class StoreLoad {

    private static final Duration TIMEOUT = Duration.ofSeconds(60);
    private static final int[] CONNECTIONS = {1, 16, 64};
    private static final int PIPELINED = 64;
    private static final String ECHO = "echo";
    private static final byte ADD = 4;
    private static final byte SET = 1;
    private static final byte[] HELLO = {0, (byte) 0xce, (byte) 0xf7, (byte) 0x85, 0x3c};

    /** A server that takes turns with others. */
    private record Server(String name, long process, TcpStore store, TcpStore other, int port) {}

    /** Something done again and again; returns how many requests the server got by it. */
    private interface Step {
        int run() throws IOException;
    }

    private final long sliceNanos;
    private int round;

    private StoreLoad(long sliceNanos) {
        this.sliceNanos = sliceNanos;
    }

    /**
     * Serves a store until the standard input ends, or loads servers.
     *
     * @param args {@code serve}, or the number of rounds, the milliseconds of a turn, and {@code
     *     name:pid:port} of each server on this host
     * @throws Exception when a server cannot be reached
     */
    public static void main(String[] args) throws Exception {
        if (args[0].equals("serve")) {
            serve();
            return;
        }
        if (args[0].equals("echo")) {
            echo();
            return;
        }
        int rounds = Integer.parseInt(args[0]);
        StoreLoad load = new StoreLoad(Long.parseLong(args[1]) * 1_000_000);
        List<Server> servers = new ArrayList<>();
        for (String each : Arrays.asList(args).subList(2, args.length)) {
            String[] parts = each.split(":");
            int port = Integer.parseInt(parts[2]);
            servers.add(
                    new Server(
                            parts[0],
                            Long.parseLong(parts[1]),
                            parts[0].equals(ECHO) ? null : connect(port),
                            parts[0].equals(ECHO) ? null : connect(port),
                            port));
        }
        // The first round warms both sides up, and is told apart by its number.
        List<Server> stores = servers.stream().filter(each -> each.store() != null).toList();
        for (load.round = 0; load.round <= rounds; load.round++) {
            load.latencies(stores);
            for (int connections : CONNECTIONS) {
                load.throughput(servers, connections);
            }
            load.pipelined(servers);
        }
    }

    private static TcpStore connect(int port) {
        return TcpStore.connect("127.0.0.1", port, TIMEOUT);
    }

    private static void serve() throws IOException {
        try (TcpStoreServer server =
                TcpStoreServer.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))) {
            System.out.println(server.port());
            while (System.in.read() >= 0) {
                Thread.onSpinWait();
            }
        }
    }

    /**
     * The least that a server can do: a thread for each connection, one call to receive and one to
     * send, and nothing is understood. What it takes is the system's part of the others' times.
     */
    private static void echo() throws IOException {
        ServerSocketChannel listener =
                ServerSocketChannel.open()
                        .bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 4096);
        System.out.println(listener.socket().getLocalPort());
        while (true) {
            SocketChannel client = listener.accept();
            client.setOption(StandardSocketOptions.TCP_NODELAY, true);
            Thread thread = new Thread(() -> echo(client));
            thread.setDaemon(true);
            thread.start();
        }
    }

    private static void echo(SocketChannel client) {
        ByteBuffer received = ByteBuffer.allocateDirect(64 << 10);
        ByteBuffer answer = ByteBuffer.allocateDirect(Long.BYTES);
        try (client) {
            while (client.read(received.clear()) >= 0) {
                if (received.position() > HELLO.length) {
                    client.write(answer.clear());
                }
            }
        } catch (IOException e) {
            return; // the client has gone
        }
    }

    private void latencies(List<Server> servers) throws Exception {
        for (Server server : inTurn(servers)) {
            TcpStore store = server.store();
            byte[] value = "value".getBytes(StandardCharsets.US_ASCII);
            List<String> present = List.of("present");
            store.set("present", value);
            store.get("present");
            latency(server, "add", () -> store.add("counter", 1));
            latency(server, "check", () -> store.check(present));
            latency(server, "get", () -> store.get("present"));
            latency(
                    server,
                    "set, check",
                    () -> {
                        store.set("mine", value);
                        store.check(present);
                    });
            latency(server, "set", () -> store.set("mine", value));
            store.check(present);
            released(server);
        }
    }

    private void latency(Server server, String what, Runnable call) {
        long[] times = new long[1 << 17];
        int count = 0;
        long end = System.nanoTime() + sliceNanos;
        for (long now = System.nanoTime(); now < end && count < times.length; ) {
            call.run();
            long then = System.nanoTime();
            times[count++] = then - now;
            now = then;
        }
        tell(server, what, "us", median(times, count) / 1e3);
    }

    /** From the call that sets a key to the end of another client's wait for it. */
    private void released(Server server) throws Exception {
        int count = (int) Math.max(20, sliceNanos / 400_000);
        long[] times = new long[count];
        long[] set = new long[1];
        CyclicBarrier ready = new CyclicBarrier(2);
        String name = "released/" + round + "/";
        Thread waiter =
                new Thread(
                        () -> {
                            for (int i = 0; i < count; i++) {
                                await(ready);
                                server.other().await(List.of(name + i), TIMEOUT);
                                times[i] = System.nanoTime();
                                await(ready);
                                times[i] -= set[0];
                            }
                        });
        waiter.start();
        for (int i = 0; i < count; i++) {
            await(ready);
            Thread.sleep(0, 200_000); // its request is with the server by then
            set[0] = System.nanoTime();
            server.store().set(name + i, new byte[1]);
            await(ready);
        }
        waiter.join();
        tell(server, "set to end of wait", "us", median(times, count) / 1e3);
        for (int i = 0; i < count; i++) {
            server.store().deleteKey(name + i);
        }
    }

    private static void await(CyclicBarrier barrier) {
        try {
            barrier.await();
        } catch (InterruptedException | BrokenBarrierException e) {
            throw new IllegalStateException(e);
        }
    }

    private void throughput(List<Server> servers, int connections) throws IOException {
        for (Server server : inTurn(servers)) {
            long start = System.nanoTime();
            List<SocketChannel> clients = new ArrayList<>();
            List<ByteBuffer> requests = new ArrayList<>();
            for (int i = 0; i < connections; i++) {
                clients.add(connect(server));
                requests.add(direct(add("/load/" + i)));
            }
            ByteBuffer answer = ByteBuffer.allocateDirect(Long.BYTES);
            Step step =
                    () -> {
                        for (int i = 0; i < connections; i++) {
                            clients.get(i).write(requests.get(i).rewind());
                        }
                        for (SocketChannel client : clients) {
                            read(client, answer.clear());
                        }
                        return connections;
                    };
            step.run();
            double micros = (System.nanoTime() - start) / 1e3;
            tell(server, "connect and add, " + connections, "us each", micros / connections);
            measure(server, "add, " + connections + " connections", step);
            for (SocketChannel client : clients) {
                client.close();
            }
        }
    }

    /** Requests without an answer, many in one packet, and one with an answer at the end. */
    private void pipelined(List<Server> servers) throws IOException {
        for (Server server : inTurn(servers)) {
            try (SocketChannel client = connect(server)) {
                ByteBuffer sets = ByteBuffer.allocate(PIPELINED * 64);
                for (int i = 0; i < PIPELINED - 1; i++) {
                    sets.put(set("/load/set/" + i));
                }
                sets.put(add("/load/counter"));
                ByteBuffer all = direct(Arrays.copyOf(sets.array(), sets.position()));
                ByteBuffer answer = ByteBuffer.allocateDirect(Long.BYTES);
                Step step =
                        () -> {
                            client.write(all.rewind());
                            read(client, answer.clear());
                            return PIPELINED;
                        };
                measure(server, "set, " + PIPELINED + " at once", step);
            }
        }
    }

    private void measure(Server server, String what, Step step) throws IOException {
        long used = cpuNanos(server.process());
        long start = System.nanoTime();
        long requests = 0;
        while (System.nanoTime() - start < sliceNanos) {
            requests += step.run();
        }
        double seconds = (System.nanoTime() - start) / 1e9;
        tell(server, what, "1000/s", requests / seconds / 1e3);
        double cpu = (cpuNanos(server.process()) - used) / 1e3;
        tell(server, what, "us of CPU", cpu / requests);
    }

    private static SocketChannel connect(Server server) throws IOException {
        SocketChannel channel =
                SocketChannel.open(new InetSocketAddress("127.0.0.1", server.port()));
        channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
        channel.write(direct(HELLO));
        return channel;
    }

    private static void read(SocketChannel client, ByteBuffer into) throws IOException {
        while (into.hasRemaining()) {
            if (client.read(into) < 0) {
                throw new IOException("the server closed the connection");
            }
        }
    }

    private static byte[] add(String key) {
        return request(ADD, key, Long.BYTES).putLong(1).array();
    }

    private static byte[] set(String key) {
        byte[] value = key.getBytes(StandardCharsets.US_ASCII);
        return request(SET, key, Long.BYTES + value.length)
                .putLong(value.length)
                .put(value)
                .array();
    }

    /** A request with a key, and room for what follows. */
    private static ByteBuffer request(byte opcode, String key, int more) {
        byte[] name = key.getBytes(StandardCharsets.US_ASCII);
        return ByteBuffer.allocate(1 + Long.BYTES + name.length + more)
                .order(ByteOrder.LITTLE_ENDIAN)
                .put(opcode)
                .putLong(name.length)
                .put(name);
    }

    private static ByteBuffer direct(byte[] bytes) {
        return ByteBuffer.allocateDirect(bytes.length).put(bytes).flip();
    }

    /** Time on a processor of all threads, from the scheduler. */
    private static long cpuNanos(long process) throws IOException {
        long sum = 0;
        try (Stream<Path> tasks = Files.list(Path.of("/proc", "" + process, "task"))) {
            for (Path task : tasks.toList()) {
                sum += Long.parseLong(Files.readString(task.resolve("schedstat")).split(" ")[0]);
            }
        }
        return sum;
    }

    /** Who comes first changes from round to round. */
    private List<Server> inTurn(List<Server> servers) {
        List<Server> order = new ArrayList<>();
        for (int i = 0; i < servers.size(); i++) {
            order.add(servers.get((i + round) % servers.size()));
        }
        return order;
    }

    private void tell(Server server, String what, String unit, double value) {
        System.out.println(
                String.format(
                        Locale.ROOT, "%d;%s;%s;%s;%.3f", round, server.name(), what, unit, value));
    }

    private static double median(long[] times, int count) {
        Arrays.sort(times, 0, count);
        return times[count / 2];
    }
}
