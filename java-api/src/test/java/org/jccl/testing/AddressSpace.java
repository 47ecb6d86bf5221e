package org.jccl.testing;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** The address space of a JVM that was made to have no thread left. */
public final class AddressSpace {

    /** For such a JVM: each thread of Java's has a stack larger than what is left. */
    public static final String LARGE_STACKS = "-Xss256m";

    private static final long LEFT_KB = 128 << 10;

    private AddressSpace() {}

    /**
     * Lifts the limit of this process after some seconds, from another process that is started now.
     *
     * @param seconds when
     * @throws IOException if the process cannot be started
     */
    public static void releaseAfter(int seconds) throws IOException {
        long pid = ProcessHandle.current().pid();
        String release = "sleep " + seconds + "; prlimit --pid " + pid + " --as=unlimited:";
        new ProcessBuilder("sh", "-c", release).inheritIO().start();
    }

    /**
     * Leaves this process too little for the stack of another thread, and enough for all else.
     *
     * @throws IOException if the system does not tell how much it has
     * @throws InterruptedException if the test's time is over
     */
    public static void fill() throws IOException, InterruptedException {
        long used =
                Files.readAllLines(Path.of("/proc/self/status")).stream()
                        .filter(line -> line.startsWith("VmSize:"))
                        .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")))
                        .sum();
        String pid = Long.toString(ProcessHandle.current().pid());
        String limit = "--as=" + ((used + LEFT_KB) << 10) + ":"; // the soft limit only
        int code = new ProcessBuilder("prlimit", "--pid", pid, limit).start().waitFor();
        assertThat(code).isZero();
    }
}
