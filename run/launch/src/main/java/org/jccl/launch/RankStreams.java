package org.jccl.launch;

import java.util.Map;

/**
 * The chosen output streams of each rank of a node.
 *
 * @param all for ranks that are not among {@code some}
 * @param some for single ranks, by their local rank
 */
record RankStreams(OutputStreams all, Map<Integer, OutputStreams> some) {

    RankStreams {
        some = Map.copyOf(some);
    }

    boolean include(int localRank, boolean error) {
        return some.getOrDefault(localRank, all).include(error);
    }
}
