package org.jccl.cli.top;

import java.io.Console;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Where the table is shown: a terminal, on which it is drawn over itself, or anything else, which
 * gets one table after the other.
 *
 * @param terminal whether it is one
 * @param table as large as there is room for
 */
record Screen(boolean terminal, JobTable table) {

    private static final int PLENTY = Integer.MAX_VALUE;
    private static final String HOME = "\u001b[H";
    private static final String CLEAR_LINE = "\u001b[K";
    private static final String CLEAR_REST = "\u001b[J";

    /** No terminal. */
    static Screen plain() {
        return new Screen(false, new JobTable(PLENTY, PLENTY, false));
    }

    /** What standard output of this process is. */
    static Screen ofThisProcess() {
        if (!isTerminal()) {
            return plain();
        }
        int[] size = size();
        String noColor = System.getenv("NO_COLOR");
        boolean colored = noColor == null || noColor.isEmpty();
        return new Screen(true, new JobTable(size[0] - 1, size[1], colored));
    }

    private static boolean isTerminal() {
        Console console = System.console();
        if (console == null || "dumb".equals(System.getenv("TERM"))) {
            return false;
        }
        try {
            // From Java 22 on there is a console without a terminal too.
            return (boolean) Console.class.getMethod("isTerminal").invoke(console);
        } catch (NoSuchMethodException e) {
            return true;
        } catch (ReflectiveOperationException e) {
            return false;
        }
    }

    /** Lines and columns, as stty tells; else what terminals have at least. */
    private static int[] size() {
        try {
            Process stty =
                    new ProcessBuilder("stty", "size")
                            .redirectInput(ProcessBuilder.Redirect.INHERIT)
                            .redirectError(ProcessBuilder.Redirect.DISCARD)
                            .start();
            String text =
                    new String(stty.getInputStream().readAllBytes(), StandardCharsets.US_ASCII);
            stty.waitFor(1, TimeUnit.SECONDS);
            String[] numbers = text.trim().split(" ");
            int lines = Integer.parseInt(numbers[0]);
            int columns = Integer.parseInt(numbers[1]);
            if (lines > 5 && columns > 40) {
                return new int[] {lines, columns};
            }
        } catch (IOException | RuntimeException e) {
            // No stty here.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return new int[] {24, 80};
    }

    void show(PrintWriter out, List<String> lines) {
        if (!terminal) {
            lines.forEach(out::println);
            out.println();
        } else {
            StringBuilder text = new StringBuilder(HOME);
            lines.forEach(line -> text.append(line).append(CLEAR_LINE).append('\n'));
            out.print(text.append(CLEAR_REST));
        }
        out.flush();
    }
}
