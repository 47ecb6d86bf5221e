package org.jccl.internal.engine;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.bootstrap.ErrorFile;
import org.jccl.spi.BoundedCall;

/** Ends the process with a report. */
final class ProcessEnd {

    private static final Duration PATIENCE = Duration.ofSeconds(2);

    private ProcessEnd() {}

    /**
     * Does not return.
     *
     * @param reason what ends, and why
     * @param last done last, for a limited time
     */
    static void now(
            FailureContext context,
            String reason,
            JcclException cause,
            int code,
            Runnable tellOthers,
            Runnable last) {
        try {
            String headline = context + ": " + reason;
            BoundedCall.run("jccl-end", () -> report(headline, cause, tellOthers), PATIENCE);
            last.run();
        } finally {
            // Not exit: a shutdown hook may wait for the device.
            Runtime.getRuntime().halt(code);
        }
    }

    private static void report(String headline, JcclException cause, Runnable tellOthers) {
        StringWriter text = new StringWriter();
        text.append(headline).append(':').append(System.lineSeparator());
        cause.printStackTrace(new PrintWriter(text, true));
        System.err.print(text);
        System.err.flush();
        ErrorFile.in(System.getenv()).ifPresent(file -> file.record(cause));
        tellOthers.run();
    }
}
