package org.jccl.bootstrap;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** What this host is called, without asking a name server. */
final class LocalHost {

    private LocalHost() {}

    /** The name the kernel has, or {@code localhost}. */
    static String name() {
        try {
            return Files.readString(Path.of("/proc/sys/kernel/hostname")).strip();
        } catch (IOException e) {
            return "localhost";
        }
    }
}
