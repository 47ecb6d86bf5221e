package org.jccl.cli.bench;

import java.nio.file.Files;
import java.nio.file.Path;

/** Looks at files before the work whose results they are to hold. */
final class OutputFile {

    private OutputFile() {}

    /** Why a file cannot be written, or null. */
    static String fault(Path file) {
        Path folder = file.toAbsolutePath().getParent();
        if (folder == null || !Files.isDirectory(folder) || Files.isDirectory(file)) {
            return "must name a file in a folder that exists, got " + file;
        }
        if (!Files.isWritable(Files.exists(file) ? file : folder)) {
            return "names " + file + ", which this user may not write";
        }
        return null;
    }
}
