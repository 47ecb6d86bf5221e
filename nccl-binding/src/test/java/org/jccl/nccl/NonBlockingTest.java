package org.jccl.nccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jccl.DataType;
import org.jccl.GroupAbortedException;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.testing.ChildJvm;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Communicators whose calls return while their jobs are under way. */
@Tag("all")
final class NonBlockingTest {

    /** Splits a world of three ranks again and again, and uses both sides. */
    static final class Splits {

        private static final int TIMES = 10;

        private Splits() {}

        public static void main(String[] arguments) {
            World.run(
                    3,
                    World.TIMEOUT,
                    NcclOptions.builder().blocking(Boolean.getBoolean("blocking")).build(),
                    (group, device) -> {
                        try (Tensor tensor = Tensor.allocate(device, DataType.FLOAT32, 1)) {
                            for (int i = 0; i < TIMES; i++) {
                                // Another rank takes no part in the new group each time.
                                int color = group.rank() == i % 3 ? -1 : 7;
                                Optional<ProcessGroup> half = group.split(color, group.rank());
                                half.ifPresent(made -> check(made, tensor));
                                check(group, tensor);
                                half.ifPresent(ProcessGroup::close);
                            }
                        }
                    });
            System.out.println("all splits were right");
        }

        private static void check(ProcessGroup group, Tensor tensor) {
            tensor.copyFrom(new float[] {1});
            group.allReduce(tensor, ReduceOp.SUM).await();
            assertThat(tensor.copyTo(new float[1])).containsExactly(group.size());
        }
    }

    /** Aborts a world of two ranks while a split goes on. */
    static final class AbortedSplit {

        private AbortedSplit() {}

        public static void main(String[] arguments) {
            World.run(
                    2,
                    World.TIMEOUT,
                    NcclOptions.builder()
                            .blocking(false)
                            .networkName("a network of which NCCL reads the name later")
                            .build(),
                    (group, device) -> {
                        Thread abort =
                                new Thread(
                                        () -> {
                                            pause(500);
                                            group.abort();
                                        });
                        abort.start();
                        assertThatThrownBy(() -> group.split(0, group.rank()))
                                .isInstanceOf(GroupAbortedException.class);
                        abort.join();
                        pause(1500); // the job has ended by then
                    });
            System.out.println("all ranks were aborted");
        }

        private static void pause(long millis) {
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(millis));
        }
    }

    /**
     * NCCL reads the settings of a split until its job has ended, which an abort does not await.
     */
    @Test
    @Tag("mocked-nccl")
    void settingsOfASplitOutliveItsAbort() throws Exception {
        assertThat(ChildJvm.outputOf(AbortedSplit.class, Map.of("MOCK_INIT_MS", "1500")))
                .contains("all ranks were aborted");
    }

    /**
     * Two threads that ask about one job end the process. The watchdog looks at each split here.
     */
    @Test
    void theWatchdogDoesNotAskAboutAJobThatAThreadWaitsFor() throws Exception {
        assertThat(ChildJvm.outputOf(Splits.class, Map.of("MOCK_INIT_MS", "300")))
                .contains("all splits were right")
                .doesNotContain("WARNING");
    }

    @Test
    void variableOfNcclGoesBeforeTheOption() throws Exception {
        Map<String, String> environment = Map.of("NCCL_COMM_BLOCKING", "0", "MOCK_INIT_MS", "100");
        assertThat(ChildJvm.outputOf(Splits.class, environment, "-Dblocking=true"))
                .contains("all splits were right")
                .doesNotContain("WARNING");
    }

    @Test
    void splitsAndTheirParentsWorkAndCloseInGoodOrder() throws Exception {
        assertThat(ChildJvm.outputOf(Splits.class, Map.of()))
                .contains("all splits were right")
                .doesNotContain("WARNING");
    }
}
