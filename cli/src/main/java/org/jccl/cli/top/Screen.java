package org.jccl.cli.top;

import java.io.Console;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Shows the table. On a terminal, each table overwrites the previous one. Other outputs get one
 * table after the other.
 */
final class Screen implements AutoCloseable {

    private static final int PLENTY = Integer.MAX_VALUE;
    private static final String HOME = "\u001b[H";
    private static final String CLEAR_LINE = "\u001b[K";
    private static final String CLEAR_REST = "\u001b[J";

    private final PrintWriter out;
    private final boolean terminal;
    private final Thread onInterrupt;
    private boolean drawn;

    /**
     * A screen.
     *
     * @param out standard output
     * @param terminal whether that is one
     */
    private Screen(PrintWriter out, boolean terminal) {
        this.out = out;
        this.terminal = terminal;
        this.onInterrupt = new Thread(this::leaveLine, "jccl-top-end");
        if (terminal) {
            Runtime.getRuntime().addShutdownHook(onInterrupt);
        }
    }

    /** No terminal. */
    static Screen plain(PrintWriter out) {
        return new Screen(out, false);
    }

    /** The standard output of this process, which may be a terminal. */
    static Screen ofThisProcess(PrintWriter out) {
        return new Screen(out, isTerminal());
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

    /** The current lines and columns from stty, or else the least that terminals have. */
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
            if (lines > 3 && columns > 10) {
                return new int[] {lines, columns};
            }
        } catch (IOException | RuntimeException e) {
            // No stty here.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return new int[] {24, 80};
    }

    /**
     * Shows a job, as large as fits.
     *
     * @return false if nothing reads the output any more
     */
    boolean show(JobView view) {
        if (terminal) {
            int[] size = size();
            String noColor = System.getenv("NO_COLOR");
            boolean colored = noColor == null || noColor.isEmpty();
            draw(new JobTable(size[0] - 1, size[1], colored).lines(view), size[0]);
        } else {
            new JobTable(PLENTY, PLENTY, false).lines(view).forEach(out::println);
            out.println();
        }
        return !out.checkError();
    }

    private void draw(List<String> lines, int height) {
        StringBuilder text = new StringBuilder();
        if (!drawn) {
            // Earlier output scrolls up, where the user can still read it.
            text.append("\n".repeat(height));
            drawn = true;
        }
        text.append(HOME);
        lines.forEach(line -> text.append(line).append(CLEAR_LINE).append('\n'));
        out.print(text.append(CLEAR_REST));
    }

    /** Ends the line in which the terminal has printed ^C, before the prompt of the shell. */
    private void leaveLine() {
        out.println();
        out.flush();
    }

    @Override
    public void close() {
        if (terminal) {
            try {
                Runtime.getRuntime().removeShutdownHook(onInterrupt);
            } catch (IllegalStateException e) {
                // It runs already.
            }
        }
    }
}
