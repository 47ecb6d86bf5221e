package org.jccl.soak;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

/** The driver's end of the connection to a {@link RankMain}. Lines of the last command are kept. */
final class RankProcess {

    private final int number;
    private final ProcessHandle process;
    private final PrintWriter out;
    private final List<String> lines = new ArrayList<>();
    private final List<Resources> resources = new ArrayList<>();
    private boolean gone;

    RankProcess(Socket socket) throws IOException {
        BufferedReader in =
                new BufferedReader(
                        new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
        String first = in.readLine();
        if (first == null) {
            throw new IOException("a process ended before its first world");
        }
        String[] hello = first.split(" ");
        number = Integer.parseInt(hello[1]);
        process = ProcessHandle.of(Long.parseLong(hello[2])).orElseThrow();
        out = new PrintWriter(socket.getOutputStream(), true, StandardCharsets.UTF_8);
        Thread reader = new Thread(() -> read(in), "soak-reader");
        reader.setDaemon(true);
        reader.start();
    }

    private void read(BufferedReader in) {
        try (in) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                synchronized (this) {
                    lines.add(line);
                    notifyAll();
                }
            }
        } catch (IOException e) {
            // The process ended with data unread.
        }
        synchronized (this) {
            gone = true;
            notifyAll();
        }
    }

    int number() {
        return number;
    }

    long pid() {
        return process.pid();
    }

    synchronized boolean isGone() {
        return gone;
    }

    synchronized void command(String line) {
        lines.clear();
        out.println(line);
    }

    synchronized List<String> lines() {
        return List.copyOf(lines);
    }

    /** Waits for a line; empty when the process ends, or the time, before it comes. */
    synchronized Optional<String> await(Predicate<String> wanted, long deadline)
            throws InterruptedException {
        while (true) {
            Optional<String> found = lines.stream().filter(wanted).findFirst();
            long millis = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
            if (found.isPresent() || gone || millis <= 0) {
                return found;
            }
            wait(millis);
        }
    }

    Optional<String> await(String beginning, long deadline) throws InterruptedException {
        return await(line -> line.startsWith(beginning), deadline);
    }

    /** Measured between two worlds, when nothing should be open. */
    List<Resources> resources() {
        return resources;
    }

    void kill() {
        process.destroyForcibly();
    }

    void signal(String name) throws IOException, InterruptedException {
        new ProcessBuilder("sh", "-c", "kill -" + name + " " + pid()).start().waitFor();
    }

    /** Writes the stacks of all threads to a file. */
    void dump(Path file) throws IOException, InterruptedException {
        Process jstack =
                new ProcessBuilder(
                                Path.of(System.getProperty("java.home"), "bin", "jstack")
                                        .toString(),
                                "-l",
                                Long.toString(pid()))
                        .redirectErrorStream(true)
                        .redirectOutput(file.toFile())
                        .start();
        if (!jstack.waitFor(20, TimeUnit.SECONDS)) {
            jstack.destroyForcibly();
        }
    }
}
