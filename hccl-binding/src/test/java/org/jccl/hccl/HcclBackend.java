package org.jccl.hccl;

import java.util.function.IntUnaryOperator;
import org.jccl.DataType;
import org.jccl.ReduceOp;
import org.jccl.conformance.Capability;
import org.jccl.conformance.DeviceBackend;
import org.jccl.conformance.Ranks;

/** HCCL as the conformance suite sees it. */
final class HcclBackend extends DeviceBackend {

    private Ranks ranks;

    /** A device a rank, from the first on. */
    HcclBackend(HcclOptions options) {
        this(options, rank -> rank);
    }

    HcclBackend(HcclOptions options, IntUnaryOperator deviceOfRank) {
        super("hccl", HcclProvider.DEVICE_TYPE, options, deviceOfRank);
    }

    @Override
    public Ranks ranks() {
        if (ranks == null) {
            ranks = RankJvm.ranks(this).orElseGet(super::ranks);
        }
        return ranks;
    }

    /** Atlas 300I Duo reduces to all instead of to one, so ranks may name different roots. */
    @Override
    public boolean has(Capability capability) {
        Chip chip = HcclLibraries.get().chip();
        return switch (capability) {
            case MESSAGES -> chip.has("HcclSend");
            case MANY_RANKS -> chip.mostRanksOfAllToAll() > 4;
            case STUCK_MISMATCHES -> chip.has("HcclReduce");
            default -> super.has(capability);
        };
    }

    @Override
    public boolean reduces(ReduceOp op, DataType type) {
        return HcclTypes.reduces(HcclLibraries.get().chip(), op, type, true);
    }
}
