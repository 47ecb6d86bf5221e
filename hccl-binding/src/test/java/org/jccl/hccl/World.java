package org.jccl.hccl;

import java.time.Duration;
import org.jccl.Device;
import org.jccl.ProcessGroup;
import org.jccl.Store;
import org.jccl.conformance.DeviceBackend;
import org.jccl.conformance.Ranks;

/** Worlds of one device a rank, all in this process. */
final class World {

    static final Duration TIMEOUT = Ranks.TIMEOUT;
    static final Device NPU = npu(0);

    private World() {}

    static Device npu(int index) {
        return new Device(HcclProvider.DEVICE_TYPE, index);
    }

    /** A world of this rank alone, on the first device. */
    static ProcessGroup alone() {
        return new HcclBackend(HcclOptions.defaults()).alone();
    }

    static ProcessGroup join(
            Store store, int rank, int size, Duration timeout, HcclOptions options) {
        return new HcclBackend(options)
                .builder(store, rank, size, timeout)
                .joinTimeout(timeout)
                .build();
    }

    static void run(int size, Duration timeout, HcclOptions options, DeviceBackend.Body body) {
        new HcclBackend(options).run(size, timeout, body);
    }

    static void run(int size, DeviceBackend.Body body) {
        run(size, TIMEOUT, HcclOptions.defaults(), body);
    }
}
