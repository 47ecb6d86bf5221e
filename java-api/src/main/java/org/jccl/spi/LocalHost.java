package org.jccl.spi;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Provides the name of this host without a name server. */
public final class LocalHost {

    private LocalHost() {}

    /**
     * Returns the host name of the kernel.
     *
     * @return the name, or {@code localhost} if it cannot be read
     */
    public static String name() {
        try {
            return Files.readString(Path.of("/proc/sys/kernel/hostname")).strip();
        } catch (IOException e) {
            return "localhost";
        }
    }
}
