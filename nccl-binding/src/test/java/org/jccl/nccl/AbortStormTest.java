package org.jccl.nccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.testing.Patience.enough;

import java.time.Duration;
import java.util.Map;
import java.util.Random;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.JcclException;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.testing.ChildJvm;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Groups that are aborted at any moment of what they do. */
@Tag("all")
final class AbortStormTest {

    /** Aborts world after world while its ranks connect, or fill the queues of their streams. */
    static final class Storm {

        /** So long a world works before it is aborted, at most. */
        private static final int MOMENTS_MICROSECONDS = 60_000;

        private Storm() {}

        public static void main(String[] arguments) {
            NcclOptions options =
                    NcclOptions.builder().blocking(Boolean.getBoolean("blocking")).build();
            int times = Integer.getInteger("times");
            long seed = Long.getLong("seed", System.nanoTime());
            System.out.println("seed " + seed);
            Random random = new Random(seed);
            for (int i = 0; i < times; i++) {
                int moment = random.nextInt(MOMENTS_MICROSECONDS);
                World.run(
                        2,
                        enough(Duration.ofSeconds(30)),
                        options,
                        (group, device) -> {
                            if (group.rank() == 0) {
                                abortAfter(moment, group);
                            }
                            work(group, device);
                        });
            }
            System.out.println("all aborts are through");
        }

        private static void abortAfter(int microseconds, ProcessGroup group) {
            Thread thread =
                    new Thread(
                            () -> {
                                try {
                                    Thread.sleep(microseconds / 1000, microseconds % 1000 * 1000);
                                } catch (InterruptedException e) {
                                    throw new AssertionError(e);
                                }
                                group.abort();
                            });
            thread.setDaemon(true);
            thread.start();
        }

        private static void work(ProcessGroup group, Device device) {
            try (Tensor tensor = Tensor.allocate(device, DataType.FLOAT32, 1000)) {
                while (true) {
                    group.allReduce(tensor, ReduceOp.SUM);
                    group.sync().allReduce(tensor, ReduceOp.SUM);
                }
            } catch (JcclException e) {
                // The other rank is stuck until its own group is aborted.
                group.abort();
            }
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void groupsAreAbortedAtAnyMoment(boolean blocking) throws Exception {
        Map<String, String> environment = Map.of("MOCK_NCCL_CONNECT", "-1");
        assertThat(
                        ChildJvm.outputOf(
                                Storm.class, environment, "-Dtimes=10", "-Dblocking=" + blocking))
                .contains("all aborts are through")
                .doesNotContain("not freed");
    }
}
