package org.jccl.nccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.enough;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jccl.DataType;
import org.jccl.PeerLostException;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Store;
import org.jccl.Tensor;
import org.jccl.Work;
import org.jccl.conformance.DeviceBackend;
import org.jccl.store.HashStore;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(240)
@Tag("all")
final class ReplacementTest extends org.jccl.conformance.ReplacementTest {

    private static final Duration TIMEOUT = enough(Duration.ofSeconds(60));

    @Override
    protected DeviceBackend backend() {
        return new NcclBackend(NcclOptions.defaults(), NcclConformanceTest.ownDevices());
    }

    /** NCCL cannot be interrupted: the thread that is inside is left behind. */
    @Test
    void aRankThatIsLostBeforeItConnectsHoldsUpNobody() throws Exception {
        DeviceBackend backend = backend();
        try (Store store = HashStore.create(TIMEOUT)) {
            CompletableFuture<Integer> first = join(backend, store, 0);
            String here = awaitKey(store, "/here/0");
            store.set(here.replace("/here/0", "/here/1"), new byte[] {'x'});
            awaitKey(store, "/members");
            Thread.sleep(1500); // rank 0 is in ncclCommInit now
            CompletableFuture<Integer> second = join(backend, store, 1);
            assertThat(first.get(90, TimeUnit.SECONDS)).isPositive();
            assertThat(second.get(90, TimeUnit.SECONDS)).isEqualTo(first.get());
        }
    }

    /** Ranks that NCCL connects without sockets wait for a dead process as long as they may. */
    @Test
    void whoWaitsForARankThatIsReplacedIsTold() throws Exception {
        DeviceBackend backend = backend();
        try (Store store = HashStore.create(TIMEOUT)) {
            CompletableFuture<ProcessGroup> dead =
                    CompletableFuture.supplyAsync(
                            () -> {
                                ProcessGroup group = build(backend, store, 1);
                                group.sync().barrier();
                                return group;
                            });
            ProcessGroup first = build(backend, store, 0);
            first.sync().barrier();
            try (Tensor tensor = Tensor.allocate(first.devices().get(0), DataType.FLOAT32, 1)) {
                Work stuck = first.allReduce(tensor, ReduceOp.SUM);
                CompletableFuture<Integer> second = join(backend, store, 1);
                assertThatThrownBy(stuck::synchronize)
                        .isInstanceOf(PeerLostException.class)
                        .hasMessageContaining("rank 1 was lost: another process has taken")
                        .satisfies(
                                lost -> assertThat(((PeerLostException) lost).peer()).hasValue(1));
                try (ProcessGroup next = first.reconfigure(TIMEOUT)) {
                    next.barrier().synchronize();
                    assertThat(second.get(90, TimeUnit.SECONDS)).isEqualTo(next.generation());
                }
            }
            first.close();
            ProcessGroup old = dead.get();
            old.abort();
            old.close();
        }
    }

    private static ProcessGroup build(DeviceBackend backend, Store store, int rank) {
        return backend.builder(store, rank, 2, TIMEOUT).reconfigurable(1).build();
    }

    /** Returns the generation that the rank joined. */
    private static CompletableFuture<Integer> join(DeviceBackend backend, Store store, int rank) {
        return CompletableFuture.supplyAsync(
                () -> {
                    try (ProcessGroup group = build(backend, store, rank)) {
                        group.barrier().synchronize();
                        return group.generation();
                    }
                },
                task -> new Thread(task).start());
    }

    private static String awaitKey(Store store, String end) throws InterruptedException {
        while (true) {
            for (String key : store.listKeys()) {
                if (key.endsWith(end)) {
                    return key;
                }
            }
            Thread.sleep(10);
        }
    }
}
