package org.jccl.internal.api;

import java.util.Optional;
import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.Store;
import org.jccl.UsageException;
import org.jccl.internal.backend.Backend;
import org.jccl.internal.backend.DeviceRuntimes;
import org.jccl.spi.LocalHost;

/** Gives each rank of a host a device of its own, if the user named none. */
final class LocalDevice {

    private static final String WAYS =
            "name the device with device(...), or set LOCAL_RANK to the rank among those of this host";

    private final int worldRank;
    private final int worldSize;
    private final int localRank;
    private final Optional<Store> store;

    /**
     * @param localRank rank among the processes of this host, or -1 if unknown
     * @param store belongs to this world alone; empty if there is none
     */
    LocalDevice(int worldRank, int worldSize, int localRank, Optional<Store> store) {
        this.worldRank = worldRank;
        this.worldSize = worldSize;
        this.localRank = localRank;
        this.store = store;
    }

    /**
     * Chooses the device of a backend.
     *
     * @throws UsageException if this process does not see the device of its local rank, or if
     *     another rank of this host also has no known local rank
     */
    Backend of(Backend backend) {
        String type = backend.device().type();
        int index = backend.provider().device(worldRank, backend.options()).orElse(localRank);
        int visible = DeviceRuntimes.count(type);
        if (index >= visible) {
            throw usage(
                    "rank %s has local rank %s and needs %s:%s, but this process sees %s: name another device with device(...), for instance %s:0 if each rank sees only its own (Slurm's --gpus-per-task), or show each rank all devices of its host (--gpus-per-node) and start no more ranks than devices"
                            .formatted(
                                    worldRank, index, type, index, devices(visible, type), type));
        }
        if (index < 0) {
            if (worldSize > 1 && visible > 1) {
                requireAlone(type, visible);
            }
            return backend;
        }
        return new Backend(backend.provider(), new Device(type, index), backend.options());
    }

    /** The first rank of a host may take the first device; a second one would take the same. */
    private void requireAlone(String type, int visible) {
        String host = LocalHost.name() + "/" + LocalHost.boot();
        if (store.isPresent() && store.get().add("unknown-local-rank/" + host, 1) > 1) {
            throw usage(
                    "rank %s does not know its local rank, and neither does another rank of host %s, so both would take %s:0 of %s: %s"
                            .formatted(
                                    worldRank,
                                    LocalHost.name(),
                                    type,
                                    devices(visible, type),
                                    WAYS));
        }
    }

    private static String devices(int count, String type) {
        return count + " " + type + (count == 1 ? " device" : " devices");
    }

    private static UsageException usage(String text) {
        return new UsageException(FailureContext.NONE, text);
    }
}
