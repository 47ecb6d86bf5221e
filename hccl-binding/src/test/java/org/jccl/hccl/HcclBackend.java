package org.jccl.hccl;

import org.jccl.DataType;
import org.jccl.ReduceOp;
import org.jccl.conformance.DeviceBackend;

/** HCCL as the conformance suite sees it, a device a rank. */
final class HcclBackend extends DeviceBackend {

    HcclBackend(HcclOptions options) {
        super("hccl", HcclProvider.DEVICE_TYPE, options, rank -> rank);
    }

    @Override
    public boolean reduces(ReduceOp op, DataType type) {
        return HcclTypes.reduces(CannLibraries.get().chip(), op, type, true);
    }
}
