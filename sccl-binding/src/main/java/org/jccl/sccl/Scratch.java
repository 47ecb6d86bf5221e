package org.jccl.sccl;

import java.util.ArrayList;
import java.util.List;

/**
 * Device memory for what the library must be given and nobody else has: outputs on other ranks than
 * the root, copies of inputs. Grown and kept; used in the order of one queue at a time.
 */
final class Scratch {

    private final TpuRuntime runtime;

    /** The last one is in use; the queue may still use the others. */
    private final List<Long> addresses = new ArrayList<>();

    private long capacity;
    private TpuQueue user;

    Scratch(TpuRuntime runtime) {
        this.runtime = runtime;
    }

    /** Memory of at least so many bytes, of any content, in the order of a queue. */
    long reserve(TpuQueue queue, long bytes) {
        if (user != queue) {
            if (user != null) {
                user.await(user.mark());
            }
            user = queue;
        }
        if (bytes > capacity) {
            long larger = Math.max(bytes, 2 * capacity);
            addresses.add(runtime.allocate(larger));
            capacity = larger;
        }
        // Nothing is asked for operations without elements, which are never called.
        return addresses.isEmpty() ? 0 : addresses.get(addresses.size() - 1);
    }

    /** Once no operation uses it. */
    void free() {
        addresses.forEach(runtime::free);
        addresses.clear();
        capacity = 0;
    }
}
