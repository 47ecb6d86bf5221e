package org.jccl.benchmarks;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintWriter;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Set;

/**
 * A rank of a Java library in {@code script/bench/peers}, which says over a socket what to measure
 * next. {@code script/peers/rank.h} and {@code rank.py} do the same for C and Python.
 */
public final class PeerRank {

    private static final Set<String> OWN = Set.of("gloo", JcclPeer.POLLING_GLOO, "mpi");

    private final Peer peer;
    private Peer.Call barrier;
    private Peer.Call call;
    private String prepared = "";

    private PeerRank(Peer peer) {
        this.peer = peer;
    }

    /**
     * Does what it is told until it is told to end.
     *
     * @param arguments the socket, and what of JCCL or the class of another {@link Peer}
     * @throws Exception when a call fails
     */
    public static void main(String[] arguments) throws Exception {
        String name = arguments[1];
        boolean own = OWN.contains(name);
        try (Peer peer = own ? new JcclPeer(name) : other(name);
                SocketChannel socket =
                        SocketChannel.open(UnixDomainSocketAddress.of(Path.of(arguments[0])));
                BufferedReader in =
                        new BufferedReader(Channels.newReader(socket, StandardCharsets.UTF_8));
                PrintWriter out =
                        new PrintWriter(Channels.newWriter(socket, StandardCharsets.UTF_8), true)) {
            out.println("hello " + peer.rank() + " " + peer.version());
            new PeerRank(peer).serve(in, out);
        }
    }

    private static Peer other(String name) throws ReflectiveOperationException {
        return (Peer) Class.forName(name).getConstructor().newInstance();
    }

    private void serve(BufferedReader in, PrintWriter out) throws Exception {
        for (String line = in.readLine(); !"end".equals(line); line = in.readLine()) {
            if (line == null) {
                throw new IOException("script/bench/peers is gone");
            }
            String[] words = line.split(" ");
            int[] numbers = Arrays.stream(words).skip(1).mapToInt(Integer::parseInt).toArray();
            String fault = prepare(words[0], numbers[0]);
            out.println(fault == null ? time(numbers[1], numbers[2], numbers[3]) : fault);
        }
        if (call != null) {
            call.close();
        }
    }

    /** Returns what to answer instead of times, or null. */
    private String prepare(String operation, int floats) throws Exception {
        String wanted = operation + " " + floats;
        if (wanted.equals(prepared)) {
            return null;
        }
        if (call != null) {
            call.close();
        }
        int part = floats / peer.size();
        int inputs =
                switch (operation) {
                    case "all_gather" -> part;
                    case "reduce_scatter", "all_to_all", "sendrecv" -> floats;
                    default -> 0;
                };
        int outputs =
                switch (operation) {
                    case "barrier" -> 0;
                    case "reduce_scatter" -> part;
                    default -> floats;
                };
        call = peer.prepare(operation, Math.max(1, inputs), Math.max(1, outputs));
        if (call == null) {
            return "none there is no such operation";
        }
        if (barrier == null) {
            barrier = peer.prepare("barrier", 1, 1);
        }
        prepared = wanted;
        return operation.equals("barrier") ? null : check(operation, inputs, outputs);
    }

    /** Every part of every result is one number, the same all over. */
    private String check(String operation, int inputs, int outputs) throws Exception {
        int rank = peer.rank();
        int size = peer.size();
        float[] input = new float[Math.max(1, inputs)];
        float[] output = new float[outputs];
        Arrays.fill(input, rank + 1);
        Arrays.fill(output, inputs > 0 ? -1 : rank + 1);
        call.write(input, output);
        barrier.run();
        call.run();
        float[] result = call.output();
        boolean unused =
                operation.equals("reduce") && rank != 0 || operation.equals("sendrecv") && rank > 1;
        for (int i = 0; i < outputs && !unused; i++) {
            float wanted =
                    switch (operation) {
                        case "broadcast", "sendrecv" -> 1;
                        case "all_gather", "all_to_all" -> i / (outputs / size) + 1;
                        default -> size * (size + 1) / 2;
                    };
            if (result[i] != wanted) {
                return "wrong element " + i + " is " + result[i] + " instead of " + wanted;
            }
        }
        // Sums of zeros stay what they are, however often they are added up.
        call.write(new float[input.length], new float[outputs]);
        return null;
    }

    private String time(int warm, int chunks, int calls) throws Exception {
        barrier.run();
        for (int i = 0; i < warm; i++) {
            call.run();
        }
        long[] nanos = new long[chunks];
        long begun = System.nanoTime();
        long last = begun;
        for (int i = 0; i < chunks; i++) {
            for (int each = 0; each < calls; each++) {
                call.run();
            }
            long now = System.nanoTime();
            nanos[i] = now - last;
            last = now;
        }
        Arrays.sort(nanos);
        return "ok " + (last - begun) + " " + nanos[chunks / 2];
    }
}
