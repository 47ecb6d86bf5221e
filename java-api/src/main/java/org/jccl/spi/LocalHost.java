package org.jccl.spi;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** What this host is called, without asking a name server. */
public final class LocalHost {

    private LocalHost() {}

    /**
     * The name that the kernel has.
     *
     * @return the name, or {@code localhost} when it can not be read
     */
    public static String name() {
        try {
            return Files.readString(Path.of("/proc/sys/kernel/hostname")).strip();
        } catch (IOException e) {
            return "localhost";
        }
    }
}
