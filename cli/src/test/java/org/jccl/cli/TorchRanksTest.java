package org.jccl.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.testing.Patience.enough;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jccl.bootstrap.Rendezvous;
import org.jccl.testing.LaunchedRank;
import org.jccl.testing.TorchPython;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** PyTorch's ranks under {@code jccl run}. */
@Timeout(240)
@Tag("all")
class TorchRanksTest {

    /** A Java rank that tells Python's ranks a number over the store that all of them reach. */
    static final class Teller {
        private Teller() {}

        public static void main(String[] arguments) {
            try (Rendezvous meeting = LaunchedRank.join()) {
                meeting.store().add("number", meeting.membership().rank());
                meeting.store().barrier("told", 3, LaunchedRank.TIMEOUT);
                System.out.println("java told " + meeting.store().add("number", 0));
            }
        }
    }

    private static String script() throws Exception {
        return Path.of(TorchRanksTest.class.getResource("torch_rank.py").toURI()).toString();
    }

    private static Command run(String... arguments) {
        List<String> all =
                new ArrayList<>(
                        List.of(
                                "run",
                                "--timeout",
                                "" + enough(Duration.ofSeconds(150)).toSeconds()));
        all.addAll(List.of(arguments));
        return Command.jccl(all.toArray(String[]::new));
    }

    @Test
    void pythonsRanksMeetAndMeetAgainAfterARestart() throws Exception {
        String python = TorchPython.require();
        Command result =
                run("-n2", "--max-restarts=1", "--", python, "-W", "ignore", script(), "sum");
        assertThat(result.exitCode()).as(result.err()).isZero();
        assertThat(result.out().lines())
                .contains("[0] default 0/2 sum 3.0", "[1] default 1/2 sum 3.0");
    }

    @Test
    void pythonAndJavaShareAWorld() throws Exception {
        String python = TorchPython.require();
        Command result =
                run(
                        "--role=python",
                        "-n2",
                        "--",
                        python,
                        "-W",
                        "ignore",
                        script(),
                        "listen",
                        ":",
                        "--role=java",
                        "--",
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-cp",
                        System.getProperty("java.class.path"),
                        Teller.class.getName());
        assertThat(result.exitCode()).as(result.err()).isZero();
        assertThat(result.out().lines())
                .contains("[0] python 0/2 heard 2", "[1] python 1/2 heard 2", "[2] java told 2");
    }
}
