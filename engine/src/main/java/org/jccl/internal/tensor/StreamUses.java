package org.jccl.internal.tensor;

import java.util.ArrayList;
import java.util.List;
import org.jccl.internal.device.NativeStream;

/**
 * The streams on which memory was copied, and which it must outlive, as with PyTorch's {@code
 * record_stream}: not every vendor's free function waits for enqueued commands. Thread-safe.
 */
final class StreamUses {

    /** Usually one. */
    private final List<NativeStream> streams = new ArrayList<>(1);

    /** Records that a command was enqueued on a stream. */
    synchronized void add(NativeStream stream) {
        for (int i = 0; i < streams.size(); i++) {
            if (streams.get(i).handle() == stream.handle()) {
                streams.set(i, stream);
                return;
            }
        }
        streams.removeIf(NativeStream::isDestroyed);
        streams.add(stream);
    }

    /** Blocks until all of these commands are complete. */
    void await() {
        List<NativeStream> all;
        synchronized (this) {
            all = List.copyOf(streams);
        }
        all.forEach(NativeStream::awaitEnd);
    }
}
