package org.jccl.internal.engine;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.bootstrap.ErrorFile;
import org.jccl.spi.BoundedCall;

/** Ends the process with a report, as {@link org.jccl.OnFailure#END_PROCESS} asks for. */
final class ProcessEnd {

    /** Of a process that did not end by a signal, so that launchers take it for a failure. */
    private static final int CODE = 1;

    private static final Duration PATIENCE = Duration.ofSeconds(2);

    private ProcessEnd() {}

    /**
     * Does not return.
     *
     * @param last done last, for a limited time
     */
    static void now(
            FailureContext context, JcclException cause, Runnable tellOthers, Runnable last) {
        try {
            BoundedCall.run("jccl-end", () -> report(context, cause, tellOthers), PATIENCE);
            last.run();
        } finally {
            // Not exit: a shutdown hook may wait for the device.
            Runtime.getRuntime().halt(CODE);
        }
    }

    private static void report(FailureContext context, JcclException cause, Runnable tellOthers) {
        StringWriter text = new StringWriter();
        text.append(context.toString())
                .append(": the process ends, as onFailure(END_PROCESS) requests, because the group")
                .append(" failed:")
                .append(System.lineSeparator());
        cause.printStackTrace(new PrintWriter(text, true));
        System.err.print(text);
        System.err.flush();
        ErrorFile.in(System.getenv()).ifPresent(file -> file.record(cause));
        tellOthers.run();
    }
}
