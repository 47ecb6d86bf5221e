package org.jccl.cli;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;

/** Standard output or error of this process, which also takes bytes that are no text. */
final class RawWriter extends PrintWriter {

    private final OutputStream raw;

    RawWriter(FileDescriptor descriptor) {
        this(new FileOutputStream(descriptor));
    }

    private RawWriter(OutputStream raw) {
        super(raw, true, StandardCharsets.UTF_8);
        this.raw = raw;
    }

    /** Writes a line of bytes after a text, at once. */
    void line(String prefix, byte[] line) {
        byte[] begin = prefix.getBytes(StandardCharsets.UTF_8);
        byte[] all = new byte[begin.length + line.length + 1];
        System.arraycopy(begin, 0, all, 0, begin.length);
        System.arraycopy(line, 0, all, begin.length, line.length);
        all[all.length - 1] = '\n';
        synchronized (lock) {
            flush();
            try {
                raw.write(all);
            } catch (IOException e) {
                setError();
            }
        }
    }
}
