package org.jccl.nccl;

import java.util.function.IntUnaryOperator;
import org.jccl.DataType;
import org.jccl.ReduceOp;
import org.jccl.conformance.DeviceBackend;

/** NCCL as the conformance suite sees it. */
class NcclBackend extends DeviceBackend {

    /** A device a rank. */
    NcclBackend(NcclOptions options) {
        this(options, rank -> rank);
    }

    NcclBackend(NcclOptions options, IntUnaryOperator deviceOfRank) {
        super("nccl", NcclProvider.DEVICE_TYPE, options, deviceOfRank);
    }

    @Override
    public boolean reduces(ReduceOp op, DataType type) {
        return op.supports(type) && NcclTypes.reduces(op, type, false);
    }

    /** 8-bit floats depend on the device, so they are neither required nor forbidden. */
    @Override
    public boolean refuses(ReduceOp op, DataType type) {
        return !op.supports(type) || !NcclTypes.reduces(op, type, true);
    }
}
