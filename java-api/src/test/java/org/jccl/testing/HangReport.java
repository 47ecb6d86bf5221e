package org.jccl.testing;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.PreInterruptCallback;
import org.junit.jupiter.api.extension.PreInterruptContext;

/**
 * Prints where a test hangs when its time is over: the stacks of the processes that it started, and
 * the native stacks of this one if gdb is installed. JUnit prints the Java stacks of this process.
 * All tests have it, by {@code META-INF/services}.
 */
public final class HangReport implements PreInterruptCallback {

    /** A process that is stopped does not answer; gdb takes half a minute on a busy host. */
    private static final String LIMIT_SECONDS = "60";

    private static final int MAX_PROCESSES = 8;

    /** For JUnit. */
    public HangReport() {}

    @Override
    public void beforeThreadInterrupt(PreInterruptContext thread, ExtensionContext test)
            throws IOException, InterruptedException {
        System.out.println("Hang in " + test.getUniqueId() + "\n" + report());
    }

    /**
     * Returns the stacks, the quickest to get first, since the processes may end meanwhile. Tests
     * that hang at the same time report one after the other.
     */
    static synchronized String report() throws IOException, InterruptedException {
        StringBuilder report = new StringBuilder();
        List<ProcessHandle> started;
        try (Stream<ProcessHandle> all = ProcessHandle.current().descendants()) {
            started = all.limit(MAX_PROCESSES).toList();
        }
        for (ProcessHandle process : started) {
            Optional<String> command = process.info().command();
            report.append("Process ").append(process.pid()).append(": ");
            report.append(process.info().commandLine().orElse("has ended")).append('\n');
            if (command.map(Path::of).map(Path::getFileName).equals(Optional.of(Path.of("java")))) {
                String jstack = Path.of(command.get()).resolveSibling("jstack").toString();
                report.append(output(jstack, "-l", Long.toString(process.pid())));
            }
        }
        for (ProcessHandle process : started) {
            report.append(nativeStacks(process));
        }
        return report.append(nativeStacks(ProcessHandle.current())).toString();
    }

    private static String nativeStacks(ProcessHandle process)
            throws IOException, InterruptedException {
        String pid = Long.toString(process.pid());
        return output("gdb", "-p", pid, "-nx", "-batch", "-ex", "thread apply all bt 20");
    }

    /** The command limits itself, because gdb stops this process meanwhile. */
    private static String output(String... command) throws IOException, InterruptedException {
        List<String> limited = new ArrayList<>(List.of("timeout", "-k", "5", LIMIT_SECONDS));
        limited.addAll(List.of(command));
        Process process = new ProcessBuilder(limited).redirectErrorStream(true).start();
        process.getOutputStream().close();
        String output = new String(process.getInputStream().readAllBytes(), UTF_8);
        return "%s ended with %d%n%s%n".formatted(List.of(command), process.waitFor(), output);
    }
}
