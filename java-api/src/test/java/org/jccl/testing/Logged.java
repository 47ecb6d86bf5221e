package org.jccl.testing;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/** What is logged while a test does something. */
public final class Logged {

    private Logged() {}

    /**
     * Returns the messages of all threads, one a line.
     *
     * @param source the class whose logger it is
     * @param action is done now
     */
    public static String during(Class<?> source, Runnable action) {
        List<String> lines = new CopyOnWriteArrayList<>();
        Handler handler =
                new Handler() {
                    @Override
                    public void publish(LogRecord each) {
                        lines.add(each.getMessage());
                    }

                    @Override
                    public void flush() {}

                    @Override
                    public void close() {}
                };
        Logger logger = Logger.getLogger(source.getName());
        logger.addHandler(handler);
        try {
            action.run();
        } finally {
            logger.removeHandler(handler);
        }
        return String.join("\n", lines);
    }
}
