package org.jccl.internal.tensor;

import java.util.ArrayList;
import java.util.List;
import org.jccl.internal.device.NativeStream;

/**
 * Streams on which memory was copied from or to, which it must outlive, as with PyTorch's
 * record_stream: not every vendor's free waits for what is still enqueued. Safe for use by several
 * threads.
 */
final class StreamUses {

    /** Most often one. */
    private final List<NativeStream> streams = new ArrayList<>(1);

    /** Notes that something was enqueued on a stream. */
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

    /** Blocks until all of it is done. */
    void await() {
        List<NativeStream> all;
        synchronized (this) {
            all = List.copyOf(streams);
        }
        all.forEach(NativeStream::awaitEnd);
    }
}
