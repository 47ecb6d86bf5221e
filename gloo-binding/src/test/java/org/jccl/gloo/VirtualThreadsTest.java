package org.jccl.gloo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.enough;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Store;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.jccl.store.HashStore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledForJreRange;
import org.junit.jupiter.api.condition.JRE;

/** More waiting virtual threads than there are carriers, each needing another one to come. */
@EnabledForJreRange(min = JRE.JAVA_21)
@Timeout(120)
final class VirtualThreadsTest {

    private static final int GROUPS = 2 * Runtime.getRuntime().availableProcessors() + 2;

    private interface Body {
        void run(ProcessGroup group, int peer) throws Exception;
    }

    /** A body for each rank of each of many groups of two ranks, all at the same time. */
    private static void onVirtualThreads(Body body) throws Exception {
        List<CompletableFuture<ProcessGroup>> joining = new ArrayList<>();
        for (int i = 0; i < GROUPS; i++) {
            Store store = HashStore.create(enough(Duration.ofSeconds(30)));
            for (int rank = 0; rank < 2; rank++) {
                int mine = rank;
                CompletableFuture<ProcessGroup> joined = new CompletableFuture<>();
                new Thread(() -> joined.complete(join(store, mine))).start();
                joining.add(joined);
            }
        }
        List<ProcessGroup> groups = new ArrayList<>();
        for (CompletableFuture<ProcessGroup> each : joining) {
            groups.add(each.get(60, TimeUnit.SECONDS));
        }
        List<CompletableFuture<Void>> running = new ArrayList<>();
        // All first ranks before all second ones.
        for (int rank = 0; rank < 2; rank++) {
            for (int i = rank; i < groups.size(); i += 2) {
                running.add(startVirtual(groups.get(i), body));
            }
        }
        for (CompletableFuture<Void> each : running) {
            each.get(60, TimeUnit.SECONDS);
        }
        groups.forEach(ProcessGroup::close);
    }

    private static ProcessGroup join(Store store, int rank) {
        return ProcessGroup.builder()
                .backend("gloo")
                .store(store)
                .rank(rank)
                .worldSize(2)
                .timeout(enough(Duration.ofSeconds(30)))
                .options(GlooOptions.onHost("127.0.0.1"))
                .build();
    }

    private static CompletableFuture<Void> startVirtual(ProcessGroup group, Body body)
            throws ReflectiveOperationException {
        CompletableFuture<Void> done = new CompletableFuture<>();
        Runnable call =
                () -> {
                    try {
                        body.run(group, 1 - group.rank());
                        done.complete(null);
                    } catch (Throwable e) {
                        done.completeExceptionally(e);
                    }
                };
        // The name is not there before Java 21.
        Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, call);
        return done;
    }

    @Test
    void collectivesDoNotHoldUpOneAnother() throws Exception {
        onVirtualThreads(
                (group, peer) -> {
                    try (Tensor tensor = Tensor.allocate(Device.CPU, DataType.FLOAT32, 2)) {
                        tensor.copyFrom(new float[] {1, 2});
                        group.sync().allReduce(tensor, ReduceOp.SUM);
                        group.allReduce(tensor, ReduceOp.SUM).await();
                        group.sync().barrier();
                        assertThat(tensor.copyTo(new float[2])).containsExactly(4, 8);
                    }
                });
    }

    @Test
    void aCommonPoolThatIsBusyHoldsUpNobody() throws Exception {
        CountDownLatch done = new CountDownLatch(1);
        for (int i = 0; i < ForkJoinPool.getCommonPoolParallelism(); i++) {
            ForkJoinPool.commonPool().execute(() -> awaitQuietly(done));
        }
        try {
            onVirtualThreads(
                    (group, peer) -> {
                        group.sync().barrier();
                        group.barrier().await(enough(Duration.ofSeconds(30)));
                    });
        } finally {
            done.countDown();
        }
    }

    private static void awaitQuietly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Test
    void messagesDoNotHoldUpOneAnother() throws Exception {
        onVirtualThreads(
                (group, peer) -> {
                    try (Tensor tensor = Tensor.allocate(Device.CPU, DataType.FLOAT32, 1)) {
                        tensor.copyFrom(new float[] {group.rank()});
                        for (int i = 0; i < 3; i++) {
                            if (group.rank() == 0) {
                                group.sync().recv(tensor, peer);
                                group.send(tensor, peer).await();
                            } else {
                                group.sync().send(tensor, peer);
                                group.recv(tensor, peer).await();
                            }
                        }
                        assertThat(tensor.copyTo(new float[1])).containsExactly(1);
                    }
                });
    }

    @Test
    void piecesThatLieApartAreMovedAsOnOtherThreads() throws Exception {
        onVirtualThreads(
                (group, peer) -> {
                    try (Tensor mine = Tensor.allocate(Device.CPU, DataType.INT32, 1);
                            Tensor all = Tensor.allocate(Device.CPU, DataType.INT32, 4)) {
                        mine.copyFrom(new int[] {7 + group.rank()});
                        group.sync().allGather(List.of(all.slice(3, 1), all.slice(0, 1)), mine);
                        int[] got = all.copyTo(new int[4]);
                        assertThat(IntStream.of(got[3], got[0])).containsExactly(7, 8);
                    }
                });
    }

    /** Forming blocks in native code, so ranks of one process would wait for carriers that wait. */
    @Test
    void groupsAreMadeOnPlatformThreads() throws Exception {
        onVirtualThreads(
                (group, peer) -> {
                    assertThatThrownBy(
                                    () -> join(HashStore.create(enough(Duration.ofSeconds(1))), 0))
                            .isInstanceOf(UsageException.class)
                            .hasMessageContaining("build()")
                            .hasMessageContaining("platform thread");
                    assertThatThrownBy(() -> group.newGroup(List.of(0, 1)))
                            .isInstanceOf(UsageException.class);
                    assertThatThrownBy(() -> group.split(0, 0)).isInstanceOf(UsageException.class);
                });
    }
}
