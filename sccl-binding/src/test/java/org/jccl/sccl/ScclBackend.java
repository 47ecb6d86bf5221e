package org.jccl.sccl;

import java.util.function.IntUnaryOperator;
import org.jccl.DataType;
import org.jccl.ReduceOp;
import org.jccl.conformance.Capability;
import org.jccl.conformance.DeviceBackend;

/** SCCL as the conformance suite sees it. */
final class ScclBackend extends DeviceBackend {

    /** A device a rank, those of the chip map where there is one. */
    ScclBackend(ScclOptions options) {
        this(options, rank -> options.chipMap().isEmpty() ? rank : options.device(rank).index());
    }

    ScclBackend(ScclOptions options, IntUnaryOperator deviceOfRank) {
        super("sccl", ScclProvider.DEVICE_TYPE, options, deviceOfRank);
    }

    /** It cannot abort, so ranks stay stuck. */
    @Override
    public boolean has(Capability capability) {
        return capability == Capability.MESSAGES || capability == Capability.MANY_RANKS;
    }

    @Override
    public boolean reduces(ReduceOp op, DataType type) {
        return op.supports(type) && ScclTypes.reduces(op, type);
    }
}
