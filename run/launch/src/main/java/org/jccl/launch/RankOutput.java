package org.jccl.launch;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
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
 * One of the two output streams of a rank. A dedicated thread reads it, writes its bytes to a file,
 * and passes each line to the handler. A line of more than 65,536 bytes is passed in pieces.
 */
final class RankOutput {

    private static final Logger LOGGER = System.getLogger(ProcessLauncher.class.getName());

    private static final int MAX_BYTES = 1 << 16;
    private static final int BUFFER_BYTES = 8 << 10;

    /** The time that the handler may take for the remaining lines of a rank that has ended. */
    private static final Duration DRAIN = Duration.ofSeconds(5);

    /** If no bytes arrive for this long, a child of the rank is assumed to hold the stream open. */
    private static final Duration SILENCE = Duration.ofSeconds(2);

    private static final Duration LOOK = Duration.ofMillis(50);

    private final String name;
    private final Optional<Path> file;
    private final OutputStream log;
    private final Consumer<byte[]> lines;
    private boolean failed;
    private long lost;

    /** Whether the thread waits for output of the rank, and since when. */
    private volatile boolean waiting;

    private volatile long waitingSince;
    private volatile Thread reader;
    private volatile boolean abandoned;

    /**
     * Opens the file.
     *
     * @param name the name of the rank and the stream, for messages
     * @param file the log file, if there is one
     * @param lines the handler of each line; must not throw
     * @throws IOException if the file cannot be opened
     */
    RankOutput(String name, Optional<Path> file, Consumer<byte[]> lines) throws IOException {
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
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        byte[] buffer = new byte[BUFFER_BYTES];
        boolean afterReturn = false;
        try (stream) {
            for (int read = next(stream, buffer); read >= 0; read = next(stream, buffer)) {
                keep(buffer, read);
                for (int i = 0; i < read; i++) {
                    byte b = buffer[i];
                    if (b == '\r' || b == '\n' && !afterReturn) {
                        handOn(line);
                    } else if (b != '\n') {
                        if (line.size() >= MAX_BYTES && !continuesCharacter(b)) {
                            handOn(line);
                        }
                        line.write(b);
                    }
                    afterReturn = b == '\r';
                }
            }
        } catch (IOException e) {
            String cut = "(the " + name + " was cut off: " + e.getMessage() + ")";
            line.writeBytes(cut.getBytes(StandardCharsets.UTF_8));
        }
        if (line.size() > 0) {
            handOn(line);
        }
        closeLog();
    }

    /** Returns whether a byte continues a UTF-8 character. */
    private static boolean continuesCharacter(byte b) {
        return (b & 0xC0) == 0x80;
    }

    private int next(InputStream in, byte[] buffer) throws IOException {
        waitingSince = System.nanoTime();
        waiting = true;
        try {
            return in.read(buffer);
        } finally {
            waiting = false;
        }
    }

    /** Writes the bytes of the rank to the file, unchanged. */
    private void keep(byte[] bytes, int count) {
        try {
            log.write(bytes, 0, count);
        } catch (IOException e) {
            if (!failed) {
                failed = true;
                LOGGER.log(
                        Level.WARNING,
                        "{0} cannot be written: {1}; the job continues, and lines of {2} will be"
                                + " missing there",
                        file.orElseThrow(),
                        e.getMessage(),
                        name);
            }
            for (int i = 0; i < count; i++) {
                lost += bytes[i] == '\n' ? 1 : 0;
            }
        }
    }

    private void handOn(ByteArrayOutputStream line) {
        byte[] bytes = line.toByteArray();
        line.reset();
        lines.accept(bytes);
    }

    private void closeLog() {
        try {
            log.close();
        } catch (IOException e) {
            LOGGER.log(Level.WARNING, "the log of {0} was cut off: {1}", name, e.getMessage());
        }
        if (failed) {
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
     * Waits until all output of an ended process has reached the file and the handler. A child of
     * the process may hold the stream open. So the wait ends when no bytes arrive for a while, and
     * later calls do not wait.
     *
     * @param ended the time at which the process ended, of {@link System#nanoTime()}
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
                                : "the lines of {0} are handled too slowly; the launcher does not"
                                        + " wait for the rest",
                        name);
            }
        }
    }
}
