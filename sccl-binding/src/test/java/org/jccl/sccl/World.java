package org.jccl.sccl;

import java.time.Duration;
import org.jccl.Device;
import org.jccl.ProcessGroup;
import org.jccl.Store;
import org.jccl.conformance.DeviceBackend;
import org.jccl.conformance.Ranks;

/** Worlds of one TPU a rank, all in this process. */
final class World {

    static final Duration TIMEOUT = Ranks.TIMEOUT;

    private World() {}

    static Device tpu(int index) {
        return new Device(ScclProvider.DEVICE_TYPE, index);
    }

    /** A world of this rank alone, on the first device. */
    static ProcessGroup alone() {
        return new ScclBackend(ScclOptions.defaults()).alone();
    }

    static ProcessGroup join(
            Store store, int rank, int size, Duration timeout, ScclOptions options) {
        return new ScclBackend(options)
                .builder(store, rank, size, timeout)
                .joinTimeout(timeout)
                .build();
    }

    static void run(int size, Duration timeout, ScclOptions options, DeviceBackend.Body body) {
        new ScclBackend(options).run(size, timeout, body);
    }

    static void run(int size, DeviceBackend.Body body) {
        run(size, TIMEOUT, ScclOptions.defaults(), body);
    }
}
