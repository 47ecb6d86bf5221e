package org.jccl.internal.memory;

import java.lang.ref.Cleaner;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;

/**
 * Reports objects that became unreachable before they were closed. A program that leaks does so at
 * each step, so of many leaks the first ten are logged, and then the hundredth, the thousandth, ...
 *
 * <p>With the system property {@code org.jccl.leaks} set to {@code trace}, a report has the stack
 * of the thread that created the object. That costs some microseconds for each object.
 */
public enum Leaks {
    /** Memory that tensors own. */
    TENSORS("org.jccl.Tensor", "its memory is leaked ({1} so far). Close allocated tensors."),
    /** Groups, whose connections and threads stay. */
    GROUPS(
            "org.jccl.ProcessGroup",
            "its connections stay open ({1} so far). Close every group, even a failed one.");

    private static final Cleaner CLEANER = Cleaner.create();
    private static final boolean TRACES = "trace".equals(System.getProperty("org.jccl.leaks"));
    private static final String HOW_TO_TRACE =
            " Start Java with -Dorg.jccl.leaks=trace to see where it was created.";
    private static final int NAMED = 10;

    private final System.Logger logger;
    private final String advice;
    private final AtomicLong found = new AtomicLong();

    Leaks(String logger, String advice) {
        this.logger = System.getLogger(logger);
        this.advice = advice;
    }

    /**
     * Watches an object.
     *
     * @param closed whether it was closed; must not refer to the object
     * @param description what it is, for the log
     */
    public void watch(Object object, BooleanSupplier closed, String description) {
        Throwable place = TRACES ? new Throwable(description + " was created here") : null;
        CLEANER.register(
                object,
                () -> {
                    if (!closed.getAsBoolean()) {
                        report(description, place);
                    }
                });
    }

    private void report(String description, Throwable place) {
        long number = found.incrementAndGet();
        if (!isReported(number)) {
            return;
        }
        String message = "{0} was never closed: " + advice;
        if (place == null) {
            logger.log(System.Logger.Level.WARNING, message + HOW_TO_TRACE, description, number);
        } else {
            String text = message.replace("{0}", description).replace("{1}", "" + number);
            logger.log(System.Logger.Level.WARNING, text, place);
        }
    }

    static boolean isReported(long number) {
        long step = NAMED;
        while (step <= number / 10) {
            step *= 10;
        }
        return number <= NAMED || number == step;
    }
}
