package org.jccl.gloo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.jccl.testing.Patience.enough;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jccl.JcclException;
import org.jccl.PeerLostException;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.launch.ProcessLauncher;
import org.jccl.testing.ChildJvm;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Processes that are killed, and those that go on without them. */
@Execution(ExecutionMode.CONCURRENT)
@Timeout(300)
@Tag("all")
class ShrinkTest {

    private static final int STEPS = 200;

    /** Counts with all that are left; some ranks kill themselves on the way. */
    static final class Counting {
        private Counting() {}

        public static void main(String[] victims) {
            try (ProcessGroup world = ProcessGroup.init("gloo")) {
                ProcessGroup group = world;
                boolean agreed = true;
                for (int step = 0; step < STEPS; ) {
                    for (int i = 0; i < victims.length; i++) {
                        if (Integer.parseInt(victims[i]) == world.rank() && step == 50 * (i + 1)) {
                            Runtime.getRuntime().halt(9);
                        }
                    }
                    try {
                        if (!agreed) {
                            // A rank may have ended a step whose result another one lost.
                            step = (int) reduced(group, step, ReduceOp.MIN);
                            agreed = true;
                        }
                        long found = reduced(group, step, ReduceOp.SUM);
                        if (found != (long) step * group.size()) {
                            throw new AssertionError(group + " counted " + found + " at " + step);
                        }
                        step++;
                    } catch (JcclException lost) {
                        if (!(lost instanceof PeerLostException) && lost.exitCode() != 75) {
                            throw lost;
                        }
                        group = group.shrink(enough(Duration.ofSeconds(3)));
                        agreed = false;
                    }
                }
                System.out.println("done with " + group.worldRanks());
                if (group != world) {
                    group.close();
                }
            }
        }

        private static long reduced(ProcessGroup group, int step, ReduceOp op) {
            try (Tensor value = Tensor.copyOf(new long[] {step})) {
                group.sync().allReduce(value, op);
                return value.copyTo(new long[1])[0];
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"2", "0", "3 1", "0 1 2"})
    void theOthersGoOn(String victims) {
        List<String> lines = new CopyOnWriteArrayList<>();
        String[] killed = victims.split(" ");
        ProcessLauncher launcher =
                ProcessLauncher.builder(4)
                        .mainClass(Counting.class, killed)
                        .jvmArguments(ChildJvm.shortLived())
                        .keepSurvivors()
                        .timeout(enough(Duration.ofSeconds(100)))
                        .output((rank, error, line) -> lines.add(line))
                        .build();
        assertThatCode(launcher::run).as(() -> String.join("\n", lines)).doesNotThrowAnyException();
        List<String> left =
                List.of("0", "1", "2", "3").stream()
                        .filter(rank -> !List.of(killed).contains(rank))
                        .toList();
        String done = "done with " + left;
        assertThat(lines.stream().filter(done::equals)).as(lines.toString()).hasSize(left.size());
    }
}
