package org.jccl.nccl;

import java.time.Duration;
import org.jccl.Device;
import org.jccl.ProcessGroup;
import org.jccl.Store;
import org.jccl.conformance.DeviceBackend;
import org.jccl.conformance.Ranks;

/** Worlds of one device a rank, all in this process. */
final class World {

    static final Duration TIMEOUT = Ranks.TIMEOUT;
    static final Device GPU = gpu(0);

    private World() {}

    static Device gpu(int index) {
        return new Device(NcclProvider.DEVICE_TYPE, index);
    }

    /** A world of this rank alone, on the first device. */
    static ProcessGroup alone() {
        return new NcclBackend(NcclOptions.defaults()).alone();
    }

    static ProcessGroup join(
            Store store, int rank, int size, Duration timeout, NcclOptions options) {
        return new NcclBackend(options)
                .builder(store, rank, size, timeout)
                .joinTimeout(timeout)
                .build();
    }

    static void run(int size, Duration timeout, NcclOptions options, DeviceBackend.Body body) {
        new NcclBackend(options).run(size, timeout, body);
    }

    static void run(int size, DeviceBackend.Body body) {
        run(size, TIMEOUT, NcclOptions.defaults(), body);
    }
}
