package org.jccl.launch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jccl.spi.Deadline;
import org.jccl.testing.AddressSpace;
import org.jccl.testing.ChildJvm;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Ranks do not outlive a launcher that is killed. */
@Timeout(120)
class OrphanReaperTest {

    private static final int RANKS = 3;
    private static final int SECONDS = 60;
    private static final int KILLED = 137;

    /** Each rank prints its own number and that of a child, and waits. */
    private static final String RANK =
            "trap '' HUP TERM; sleep 1000 & echo $! $$; wait; sleep 1000";

    /** A launcher of ranks that never end. */
    static final class Launcher {

        private Launcher() {}

        public static void main(String[] arguments) {
            ProcessLauncher.builder(RANKS)
                    .command(List.of("bash", "-c", RANK))
                    .output((rank, error, line) -> System.out.println(line))
                    .build()
                    .run();
        }
    }

    /** A launcher whose rank leaves something behind and ends well. */
    static final class Leaver {

        private Leaver() {}

        public static void main(String[] arguments) {
            ProcessLauncher.builder(1)
                    .command(List.of("bash", "-c", "sleep 1000 > /dev/null 2>&1 & echo $!"))
                    .output((rank, error, line) -> System.out.println(line))
                    .build()
                    .run();
        }
    }

    private static Process start(Class<?> main) throws IOException {
        return new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-cp",
                        System.getProperty("java.class.path"),
                        main.getName())
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
    }

    @Test
    void theyAndTheirChildrenAreKilledWithIt() throws Exception {
        Process launcher = start(Launcher.class);
        List<ProcessHandle> started = new ArrayList<>();
        try (BufferedReader lines = launcher.inputReader()) {
            for (int i = 0; i < RANKS; i++) {
                for (String number : lines.readLine().split(" ")) {
                    started.add(ProcessHandle.of(Long.parseLong(number)).orElseThrow());
                }
            }
            launcher.destroyForcibly();
            assertThat(launcher.waitFor(SECONDS, TimeUnit.SECONDS)).isTrue();
            for (ProcessHandle each : started) {
                each.onExit().get(SECONDS, TimeUnit.SECONDS);
            }
        } finally {
            started.forEach(ProcessHandle::destroyForcibly);
            launcher.destroyForcibly();
        }
    }

    @Test
    void whatTheyLeaveBehindOnPurposeStays() throws Exception {
        Process launcher = start(Leaver.class);
        ProcessHandle left = null;
        try (BufferedReader lines = launcher.inputReader()) {
            left = ProcessHandle.of(Long.parseLong(lines.readLine())).orElseThrow();
            assertThat(launcher.waitFor(SECONDS, TimeUnit.SECONDS)).isTrue();
            assertThat(launcher.exitValue()).isZero();
            ProcessHandle process = left;
            assertThat(catchThrowable(() -> process.onExit().get(2, TimeUnit.SECONDS)))
                    .isInstanceOf(TimeoutException.class);
        } finally {
            if (left != null) {
                left.destroyForcibly();
            }
            launcher.destroyForcibly();
        }
    }

    /** A launcher that has no thread left for what its rank prints. */
    static final class NoThreads {

        private NoThreads() {}

        public static void main(String[] arguments) throws Exception {
            LaunchRole role = new LaunchRole("default", 1, List.of("sleep", "1000"));
            LaunchSettings settings =
                    new LaunchSettings(
                            List.of(role),
                            Map.of(),
                            Optional.empty(),
                            1,
                            0,
                            "127.0.0.1",
                            0,
                            Optional.empty(),
                            "run",
                            0,
                            LostRanks.STOP_OTHERS,
                            OutputHandler.prefixed(System.out, System.err),
                            false,
                            RankLogs.NONE,
                            Optional.empty(),
                            Duration.ofSeconds(SECONDS),
                            Optional.empty());
            LaunchRound round = new LaunchRound(0, 1, 0, "127.0.0.1", 1);
            try (OrphanReaper reaper = OrphanReaper.start()) {
                LaunchAttempt attempt = new LaunchAttempt(settings, round, Optional::empty, reaper);
                AddressSpace.fill();
                assertThat(catchThrowable(() -> attempt.run(Deadline.none())))
                        .isInstanceOf(OutOfMemoryError.class);
                assertThat(ProcessHandle.current().children())
                        .noneMatch(child -> child.info().command().orElse("").endsWith("sleep"));
            }
        }
    }

    @Test
    void aRankThatCanNotBeFollowedDoesNotRunOn() throws Exception {
        ChildJvm.outputOf(NoThreads.class, Map.of(), AddressSpace.LARGE_STACKS);
    }

    /** The system has started it, and the JVM got no thread to watch it. */
    @Test
    void aRankThatTheLauncherDoesNotKnowIsKilledToo() throws Exception {
        try (OrphanReaper reaper = OrphanReaper.start()) {
            ProcessBuilder builder = new ProcessBuilder("sleep", "1000");
            reaper.tag(builder);
            Process rank = builder.start();
            try {
                reaper.killRanks();
                assertThat(rank.waitFor(SECONDS, TimeUnit.SECONDS)).isTrue();
                assertThat(rank.exitValue()).isEqualTo(KILLED);
            } finally {
                rank.destroyForcibly();
            }
        }
    }
}
