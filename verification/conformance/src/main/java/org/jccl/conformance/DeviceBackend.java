package org.jccl.conformance;

import java.time.Duration;
import java.util.function.IntUnaryOperator;
import org.jccl.BackendOptions;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.ProcessGroup;
import org.jccl.ProcessGroupBuilder;
import org.jccl.ReduceOp;
import org.jccl.Store;
import org.jccl.Tensor;
import org.jccl.store.HashStore;

/**
 * A backend that enqueues on devices, one of them for each rank. A binding's own class says what
 * its library reduces.
 */
public abstract class DeviceBackend implements ConformanceBackend {

    /** What each rank does with its device, in tests of what only one backend has. */
    public interface Body {
        /**
         * Runs on one rank.
         *
         * @param group the world
         * @param device of this rank
         * @throws Exception fails the test
         */
        void run(ProcessGroup group, Device device) throws Exception;
    }

    private final String name;
    private final String deviceType;
    private final BackendOptions options;
    private final IntUnaryOperator deviceOfRank;
    private boolean checksCalls;
    private final ThreadLocal<Device> mine = new InheritableThreadLocal<>();

    /**
     * Creates the backend.
     *
     * @param name of the backend
     * @param deviceType of its devices
     * @param options of its groups, or null for none
     * @param deviceOfRank index of the device that each rank uses
     */
    protected DeviceBackend(
            String name, String deviceType, BackendOptions options, IntUnaryOperator deviceOfRank) {
        this.name = name;
        this.deviceType = deviceType;
        this.options = options;
        this.deviceOfRank = deviceOfRank;
    }

    /**
     * Has the worlds compare each collective before the library sees it.
     *
     * @return this backend
     */
    public final DeviceBackend checkingCalls() {
        checksCalls = true;
        return this;
    }

    @Override
    public abstract boolean reduces(ReduceOp op, DataType type);

    @Override
    public final ProcessGroup join(Store store, int rank, int size, Duration timeout) {
        return builder(store, rank, size, timeout).build();
    }

    /**
     * Returns the options of a world, on the device of the rank. This thread allocates on that
     * device from now on.
     *
     * @param store shared by the ranks of this world only
     * @param rank this rank
     * @param size number of ranks
     * @param timeout deadline of each operation; joining has {@link Ranks#TIMEOUT}
     * @return the builder
     */
    public final ProcessGroupBuilder builder(Store store, int rank, int size, Duration timeout) {
        Device device = new Device(deviceType, deviceOfRank.applyAsInt(rank));
        mine.set(device);
        ProcessGroupBuilder builder =
                ProcessGroup.builder()
                        .backend(name)
                        .store(store)
                        .rank(rank)
                        .worldSize(size)
                        .device(device)
                        .joinTimeout(Ranks.TIMEOUT)
                        .timeout(timeout);
        if (checksCalls) {
            builder.checkCalls(true);
        }
        return options == null ? builder : builder.options(options);
    }

    /**
     * A world of one rank.
     *
     * @return the group
     */
    public final ProcessGroup alone() {
        return join(HashStore.create(Ranks.TIMEOUT), 0, 1, Ranks.TIMEOUT);
    }

    /**
     * Runs a body on all ranks of a new world and returns when all are done.
     *
     * @param size number of ranks
     * @param timeout deadline of each operation
     * @param body what each rank does; its group is closed afterwards
     */
    public final void run(int size, Duration timeout, Body body) {
        ranks().run(size, timeout, rank -> body.run(rank.group(), mine.get()));
    }

    @Override
    public boolean has(Capability capability) {
        return switch (capability) {
            case TAGS, ANY_SOURCE, ANY_ORDER, BLOCKING_CALLS, ENDING_CALLS, COMPARED_CALLS -> false;
            case MESSAGES, MANY_RANKS, STUCK_MISMATCHES, SURVIVORS, LARGE_TENSORS -> true;
        };
    }

    @Override
    public final String deviceType() {
        return deviceType;
    }

    @Override
    public final Tensor allocate(DataType type, int count) {
        return Tensor.allocate(mine.get(), type, count);
    }
}
