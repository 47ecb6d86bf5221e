package org.jccl.hccl;

import java.util.function.IntUnaryOperator;
import org.jccl.DataType;
import org.jccl.ReduceOp;
import org.jccl.conformance.DeviceBackend;

/** HCCL as the conformance suite sees it. */
final class HcclBackend extends DeviceBackend {

    /** A device a rank, from the first on. */
    HcclBackend(HcclOptions options) {
        this(options, rank -> rank);
    }

    HcclBackend(HcclOptions options, IntUnaryOperator deviceOfRank) {
        super("hccl", HcclProvider.DEVICE_TYPE, options, deviceOfRank);
    }

    @Override
    public boolean reduces(ReduceOp op, DataType type) {
        return HcclTypes.reduces(HcclLibraries.get().chip(), op, type, true);
    }
}
