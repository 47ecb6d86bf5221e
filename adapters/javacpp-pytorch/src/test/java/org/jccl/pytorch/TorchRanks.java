package org.jccl.pytorch;

import static org.jccl.testing.Patience.enough;

import java.time.Duration;
import org.jccl.ProcessGroup;
import org.jccl.conformance.ConformanceBackend;
import org.jccl.gloo.GlooOptions;

/** Ranks as threads of this JVM. */
final class TorchRanks {

    private TorchRanks() {}

    interface Body {
        void run(ProcessGroup group) throws Exception;
    }

    /** The first failure of a rank is what this throws. */
    static void run(int size, Body body) {
        ConformanceBackend backend =
                (store, rank, ranks, timeout) ->
                        ProcessGroup.builder()
                                .backend("gloo")
                                .store(store)
                                .rank(rank)
                                .worldSize(ranks)
                                .timeout(timeout)
                                .options(GlooOptions.onHost("127.0.0.1"))
                                .build();
        backend.ranks().run(size, enough(Duration.ofSeconds(60)), rank -> body.run(rank.group()));
    }
}
