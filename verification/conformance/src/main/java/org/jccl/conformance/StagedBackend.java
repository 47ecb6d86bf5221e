package org.jccl.conformance;

import java.util.function.IntUnaryOperator;
import org.jccl.BackendOptions;
import org.jccl.DataType;
import org.jccl.ReduceOp;

/**
 * A backend that works on host memory and gets tensors of devices through it, one device for each
 * rank. It can do what it can with tensors of the host.
 */
public final class StagedBackend extends DeviceBackend {

    /**
     * Creates the backend.
     *
     * @param name of the backend that works on host memory
     * @param deviceType of the devices, which another binding drives
     * @param options of its groups
     * @param deviceOfRank index of the device that each rank uses
     */
    public StagedBackend(
            String name, String deviceType, BackendOptions options, IntUnaryOperator deviceOfRank) {
        super(deviceType + ":" + name, deviceType, options, deviceOfRank);
    }

    @Override
    public boolean reduces(ReduceOp op, DataType type) {
        return op.supports(type) && !type.isFloat8();
    }

    @Override
    public boolean has(Capability capability) {
        return true;
    }
}
