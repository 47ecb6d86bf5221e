package org.jccl.store;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Finds the process of this host that holds a file's {@code flock(2)} lock, from {@code
 * /proc/locks}. Locks of other hosts are not listed there.
 */
final class FileLockHolder {

    private static final Path LOCKS = Path.of("/proc/locks");

    private FileLockHolder() {}

    /** Returns a description of the process, or empty if it cannot be determined. */
    static Optional<String> of(Path file) {
        try {
            String inode = ":" + Files.getAttribute(file, "unix:ino");
            for (String line : Files.readAllLines(LOCKS)) {
                // 1: FLOCK ADVISORY WRITE 4711 fe:00:2154514 0 EOF; an arrow marks a waiter
                String[] fields = line.split(" +");
                if (fields.length > 5 && fields[1].equals("FLOCK") && fields[5].endsWith(inode)) {
                    return ProcessHandle.of(Long.parseLong(fields[4]))
                            .flatMap(FileLockHolder::text);
                }
            }
        } catch (IOException | NumberFormatException | UnsupportedOperationException e) {
            return Optional.empty(); // the holder only improves a message
        }
        return Optional.empty();
    }

    private static Optional<String> text(ProcessHandle holder) {
        boolean isCommand =
                holder.info().command().filter(name -> name.endsWith("/flock")).isPresent();
        Optional<ProcessHandle> process = isCommand ? holder.parent() : Optional.of(holder);
        return process.map(
                each ->
                        "process %s%s%s"
                                .formatted(
                                        each.pid(),
                                        each.info()
                                                .command()
                                                .map(name -> " (" + name + ")")
                                                .orElse(""),
                                        isStopped(each.pid()) ? ", which is stopped," : ""));
    }

    /** Like {@code 4711 (java) T 1 ...}, where the name may have spaces and brackets. */
    private static boolean isStopped(long pid) {
        try {
            String stat = Files.readString(Path.of("/proc", Long.toString(pid), "stat"));
            return stat.startsWith("T", stat.lastIndexOf(')') + 2);
        } catch (IOException ended) {
            return false;
        }
    }
}
