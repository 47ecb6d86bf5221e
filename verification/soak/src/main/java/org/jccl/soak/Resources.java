package org.jccl.soak;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/**
 * What a process holds.
 *
 * @param heap bytes that are reachable
 * @param resident bytes of memory of the whole process, but for shared memory: that of the mocks'
 *     devices is, which they keep for a while when it is freed
 * @param threads of Java and of libraries
 * @param descriptors of open files and connections
 */
record Resources(long heap, long resident, int threads, int descriptors) {

    /** Collects garbage and measures this process. */
    static Resources measure() {
        System.gc();
        long heap = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
        try (Stream<Path> open = Files.list(Path.of("/proc/self/fd"))) {
            long resident = 0;
            int threads = 0;
            for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
                String[] words = line.split("\\s+");
                if (words[0].equals("VmRSS:")) {
                    resident += Long.parseLong(words[1]) * 1024;
                } else if (words[0].equals("RssShmem:")) {
                    resident -= Long.parseLong(words[1]) * 1024;
                } else if (words[0].equals("Threads:")) {
                    threads = Integer.parseInt(words[1]);
                }
            }
            // One is the directory itself.
            return new Resources(heap, resident, threads, (int) open.count() - 1);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static Resources parse(String text) {
        String[] words = text.split(" ");
        return new Resources(
                Long.parseLong(words[0]),
                Long.parseLong(words[1]),
                Integer.parseInt(words[2]),
                Integer.parseInt(words[3]));
    }

    /** As {@link #parse} reads it. */
    @Override
    public String toString() {
        return heap + " " + resident + " " + threads + " " + descriptors;
    }
}
