package org.jccl.launch;

import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.Reader;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * One of the two output streams of a rank. A thread of its own reads it, writes it to a file, and
 * passes each line to the handler. A line of more than 65,536 characters is passed in pieces.
 */
final class RankOutput {

    private static final Logger LOGGER = System.getLogger(ProcessLauncher.class.getName());

    private static final int MOST_CHARS = 1 << 16;
    private static final int BUFFER_CHARS = 8 << 10;

    /** How long the handler may take for the remaining lines of a rank that has ended. */
    private static final Duration DRAIN = Duration.ofSeconds(5);

    /** After a silence of this length, the stream counts as held open by a child of the rank. */
    private static final Duration SILENCE = Duration.ofSeconds(2);

    private static final Duration LOOK = Duration.ofMillis(50);

    private final String name;
    private final Optional<Path> file;
    private final OutputStream log;
    private final Consumer<String> lines;
    private long lost;

    /** Whether the thread waits for the rank to print something, and since when. */
    private volatile boolean waiting;

    private volatile long waitingSince;
    private volatile Thread reader;
    private volatile boolean abandoned;

    /**
     * Opens the file.
     *
     * @param name of the rank and the stream, for messages
     * @param file the log file, if there is one
     * @param lines the handler of each line; must not throw
     * @throws IOException if the file can not be opened
     */
    RankOutput(String name, Optional<Path> file, Consumer<String> lines) throws IOException {
        this.name = name;
        this.file = file;
        this.log =
                file.isPresent()
                        ? Files.newOutputStream(file.get())
                        : OutputStream.nullOutputStream();
        this.lines = lines;
    }

    /** Starts to read. */
    void follow(InputStream stream) {
        Thread thread = new Thread(() -> read(stream), "jccl-" + name.replace(' ', '-'));
        thread.setDaemon(true);
        thread.start();
        reader = thread;
    }

    private void read(InputStream stream) {
        StringBuilder line = new StringBuilder();
        char[] buffer = new char[BUFFER_CHARS];
        boolean afterReturn = false;
        try (Reader in = new InputStreamReader(stream, StandardCharsets.UTF_8)) {
            for (int read = next(in, buffer); read >= 0; read = next(in, buffer)) {
                for (int i = 0; i < read; i++) {
                    char c = buffer[i];
                    if (c == '\r' || c == '\n' && !afterReturn) {
                        handOn(line);
                    } else if (c != '\n') {
                        if (line.length() >= MOST_CHARS && !Character.isLowSurrogate(c)) {
                            handOn(line);
                        }
                        line.append(c);
                    }
                    afterReturn = c == '\r';
                }
            }
        } catch (IOException e) {
            line.append("(the ").append(name).append(" was cut off: ").append(e.getMessage());
            line.append(')');
        }
        if (!line.isEmpty()) {
            handOn(line);
        }
        closeLog();
    }

    private int next(Reader in, char[] buffer) throws IOException {
        waitingSince = System.nanoTime();
        waiting = true;
        try {
            return in.read(buffer);
        } finally {
            waiting = false;
        }
    }

    private void handOn(StringBuilder line) {
        String text = line.toString();
        line.setLength(0);
        try {
            log.write((text + "\n").getBytes(StandardCharsets.UTF_8));
        } catch (IOException e) {
            if (lost++ == 0) {
                LOGGER.log(
                        Level.WARNING,
                        "{0} can not be written: {1}; the job continues, and lines of {2} will be"
                                + " missing there",
                        file.orElseThrow(),
                        e.getMessage(),
                        name);
            }
        }
        lines.accept(text);
    }

    private void closeLog() {
        try {
            log.close();
        } catch (IOException e) {
            LOGGER.log(Level.WARNING, "the log of {0} was cut off: {1}", name, e.getMessage());
        }
        if (lost > 0) {
            LOGGER.log(
                    Level.WARNING,
                    "{0} lines of {1} are missing in {2}",
                    lost,
                    name,
                    file.orElseThrow());
        }
    }

    void close() throws IOException {
        log.close();
    }

    /**
     * Waits until all that a process printed, which has ended, has been handed on. A child of the
     * process may hold the stream open, so a silence ends the wait, and later calls do not wait.
     *
     * @param ended when the process ended, as {@link System#nanoTime()} has it
     * @throws InterruptedException if the calling thread is interrupted
     */
    void drain(long ended) throws InterruptedException {
        long start = System.nanoTime();
        while (!abandoned && reader.isAlive()) {
            TimeUnit.NANOSECONDS.timedJoin(reader, LOOK.toNanos());
            boolean silent = waiting;
            long now = System.nanoTime();
            silent &= Math.min(now - ended, now - waitingSince) > SILENCE.toNanos();
            if (reader.isAlive() && (silent || now - start > DRAIN.toNanos())) {
                abandoned = true;
                LOGGER.log(
                        Level.INFO,
                        silent
                                ? "{0} is held open by a process that the rank has started; the"
                                        + " launcher does not wait for it"
                                : "the lines of {0} are taken too slowly; the launcher does not"
                                        + " wait for the rest",
                        name);
            }
        }
    }
}
