package org.jccl.bootstrap;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.System.Logger.Level;
import java.lang.Thread.UncaughtExceptionHandler;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;
import org.jccl.FailureContext;
import org.jccl.UsageException;
import org.jccl.internal.json.JsonText;
import org.jccl.internal.rendezvous.RankVariables;
import org.jccl.spi.PathSetting;

/**
 * The file from which torchrun reads the reason of a rank's failure, to show the stack trace of the
 * rank that failed first. torchrun names it in {@code TORCHELASTIC_ERROR_FILE}. This class
 * corresponds to the decorator {@code record} of {@code torch.distributed.elastic}.
 *
 * <p>{@link org.jccl.ProcessGroup#init} with {@code env://} calls {@link #recordUncaught} for its
 * thread, so a program whose {@code main} joins the world need not use this class. A program must
 * call {@link #record} if it catches its failures and ends with {@link System#exit}, or if it joins
 * from another thread.
 *
 * <p>Thread-safe.
 */
public final class ErrorFile {

    private final Path path;

    private ErrorFile(Path path) {
        this.path = path;
    }

    /**
     * Finds the file.
     *
     * @param environment the variables of the process, usually {@link System#getenv()}
     * @return the file, or empty if {@code TORCHELASTIC_ERROR_FILE} is not set or empty. Also empty
     *     if this process cannot represent the path; this is logged
     * @throws UsageException if the argument is null
     */
    public static Optional<ErrorFile> in(Map<String, String> environment) {
        if (environment == null) {
            throw new UsageException(FailureContext.NONE, "environment must not be null");
        }
        return Optional.ofNullable(environment.get(RankVariables.ERROR_FILE))
                .filter(name -> !name.isBlank())
                .flatMap(ErrorFile::named);
    }

    private static Optional<ErrorFile> named(String name) {
        try {
            return Optional.of(
                    new ErrorFile(
                            PathSetting.of(
                                    "environment variable " + RankVariables.ERROR_FILE, name)));
        } catch (UsageException e) {
            System.getLogger(ErrorFile.class.getName())
                    .log(Level.WARNING, "the launcher will not know why this rank failed", e);
            return Optional.empty();
        }
    }

    /**
     * Writes a failure with its stack trace and the time. Only the first failure is written,
     * because later ones are often its consequences. Logs a failure to write the file; does not
     * throw it.
     *
     * @param failure why the process is about to end
     * @throws UsageException if the argument is null
     */
    public void record(Throwable failure) {
        if (failure == null) {
            throw new UsageException(FailureContext.NONE, "failure must not be null");
        }
        if (Files.exists(path)) {
            return;
        }
        try {
            // A reader must see the whole file or none: torchrun fails on an incomplete one.
            Path folder = path.toAbsolutePath().getParent();
            Path draft = Files.createTempFile(folder, "error", ".tmp");
            Files.write(draft, json(failure).getBytes(StandardCharsets.UTF_8));
            Files.move(draft, path, StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            System.getLogger(ErrorFile.class.getName())
                    .log(Level.WARNING, "the launcher will not know why this rank failed", e);
        }
    }

    /** The names are those of {@code torch.distributed.elastic.multiprocessing.errors}. */
    private static String json(Throwable failure) {
        StringWriter trace = new StringWriter();
        failure.printStackTrace(new PrintWriter(trace, true));
        return new JsonText()
                .beginObject(null)
                .beginObject("message")
                .field("message", failure.toString())
                .beginObject("extraInfo")
                .field("py_callstack", trace.toString())
                .field("timestamp", Long.toString(Instant.now().getEpochSecond()))
                .endObject()
                .endObject()
                .endObject()
                .toString();
    }

    /**
     * Records the exception that ends a thread. The current handler of the thread, its thread group
     * or the default handler still gets the exception. A second call for a thread has no effect. A
     * handler that the program sets later replaces this one.
     *
     * @param thread usually the main thread
     * @throws UsageException if the argument is null
     */
    public void recordUncaught(Thread thread) {
        if (thread == null) {
            throw new UsageException(FailureContext.NONE, "thread must not be null");
        }
        UncaughtExceptionHandler present = thread.getUncaughtExceptionHandler();
        if (!(present instanceof Recorder)) {
            thread.setUncaughtExceptionHandler(new Recorder(this, present));
        }
    }

    private record Recorder(ErrorFile file, UncaughtExceptionHandler next)
            implements UncaughtExceptionHandler {

        @Override
        public void uncaughtException(Thread thread, Throwable failure) {
            file.record(failure);
            next.uncaughtException(thread, failure);
        }
    }

    /** Returns the path of the file. */
    @Override
    public String toString() {
        return path.toString();
    }
}
