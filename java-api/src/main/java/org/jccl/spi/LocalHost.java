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
        return read("hostname", "localhost");
    }

    /**
     * Returns what tells hosts of the same name apart. Containers of a host have it in common.
     *
     * @return the id of the kernel's start, or an empty text if it cannot be read
     */
    public static String boot() {
        return read("random/boot_id", "");
    }

    private static String read(String file, String otherwise) {
        try {
            return Files.readString(Path.of("/proc/sys/kernel", file)).strip();
        } catch (IOException e) {
            return otherwise;
        }
    }
}
