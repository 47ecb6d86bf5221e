package org.jccl.training;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.ProcessGroup;

/**
 * Compares the elements of replicated shards between ranks by a CRC-32C of each. Each rank reads
 * its bytes once and sends one number per shard.
 */
final class ReplicaCheck {

    /** Maximum number of ranks in a message; the others are counted. */
    private static final int NAMED = 10;

    private final List<Shard> replicated;
    private final int[] checksums;

    /**
     * Reads the replicated shards of this rank. All ranks must have the same ones in the same
     * order.
     */
    ReplicaCheck(List<Shard> shards) throws IOException {
        replicated = shards.stream().filter(Shard::replicated).toList();
        checksums = new int[replicated.size()];
        for (int i = 0; i < checksums.length; i++) {
            checksums[i] = (int) TensorBytes.read(replicated.get(i).tensor(), piece -> {});
        }
    }

    /**
     * Compares the checksums of all ranks.
     *
     * @throws DifferentModelsException on all ranks, with the same message, if they differ
     */
    void requireSame(ProcessGroup group, Device device) {
        int[] digests = ModelCheck.gather(group, device, new int[] {Arrays.hashCode(checksums)});
        if (Arrays.stream(digests).allMatch(digest -> digest == digests[0])) {
            return;
        }
        int[] all = ModelCheck.gather(group, device, checksums);
        String first = null;
        int others = 0;
        for (int tensor = 0; tensor < checksums.length; tensor++) {
            int[] ofRanks = new int[group.size()];
            for (int rank = 0; rank < ofRanks.length; rank++) {
                ofRanks[rank] = all[rank * checksums.length + tensor];
            }
            if (Arrays.stream(ofRanks).anyMatch(each -> each != ofRanks[0])) {
                others += first == null ? 0 : 1;
                first = first == null ? difference(replicated.get(tensor), ofRanks) : first;
            }
        }
        throw new DifferentModelsException(
                FailureContext.ofGroup(group.name(), group.rank()),
                first
                        + (others == 0
                                ? ""
                                : (others == 1 ? "; so does " : "; so do ")
                                        + Counted.of(others, "other replicated tensor"))
                        + ". Before the save, copy replicated tensors from one rank to all, for"
                        + " instance with GradientReducer.broadcastParameters. Save tensors that"
                        + " differ as Shard.part, under a different name on each rank");
    }

    private static String difference(Shard shard, int[] checksums) {
        int usual = mostFrequent(checksums);
        List<Integer> same = new ArrayList<>();
        List<Integer> different = new ArrayList<>();
        for (int rank = 0; rank < checksums.length; rank++) {
            (checksums[rank] == usual ? same : different).add(rank);
        }
        return "replicated tensor '"
                + shard.name()
                + "' ("
                + shard.tensor().dataType()
                + " "
                + shard.shape()
                + ") differs between ranks: "
                + ranks(different)
                + (different.size() == 1 ? " does" : " do")
                + " not have the elements of "
                + ranks(same);
    }

    /** Returns the most frequent value; of equally frequent ones that of the lowest rank. */
    private static int mostFrequent(int[] values) {
        int best = values[0];
        long most = 0;
        for (int value : values) {
            long count = Arrays.stream(values).filter(each -> each == value).count();
            if (count > most) {
                most = count;
                best = value;
            }
        }
        return best;
    }

    private static String ranks(List<Integer> ranks) {
        List<String> named = ranks.stream().limit(NAMED).map(String::valueOf).toList();
        return (ranks.size() == 1 ? "rank " : "ranks ")
                + String.join(", ", named)
                + (ranks.size() > NAMED ? " and " + (ranks.size() - NAMED) + " more" : "");
    }
}
