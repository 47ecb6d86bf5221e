package org.jccl.mpi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.testing.Patience.enough;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.assertj.core.api.SoftAssertions;
import org.jccl.Store;
import org.jccl.mpi.ConformanceMain.SuiteRun;
import org.jccl.store.TcpStore;
import org.jccl.store.TcpStoreServer;
import org.jccl.testing.Families;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The conformance suite with a process for each rank, under both launchers. */
@Execution(ExecutionMode.CONCURRENT)
@Timeout(600)
@Tag("all")
class MpiConformanceTest {

    static final int RANKS = 4;
    private static final Duration TIMEOUT = enough(Duration.ofSeconds(30));

    /**
     * Without {@code script/test --all}, MPICH leaves out what {@link StandardAbiTest} runs on it,
     * and the failures, which wait for deadlines; and each library leaves out some collectives of
     * tensors that are too large for one call.
     */
    @ParameterizedTest
    @EnumSource
    void conforms(Mpirun mpirun) throws Exception {
        boolean full = Families.ALL || mpirun == Mpirun.OPEN_MPI;
        boolean fullOfLarge = Families.ALL || mpirun == Mpirun.MPICH;
        List<SuiteRun> runs = new ArrayList<>();
        runs.add(SuiteRun.of(full ? "!failures" : "!(reductions | gathers | messages | failures)"));
        runs.add(
                SuiteRun.ofLargeTensors(
                        fullOfLarge
                                ? "gathers | messages | reductions | all-to-all"
                                : "gathers | messages"));
        runs.add(SuiteRun.checkedOf("any()"));
        if (full) {
            // Last, since what is stuck in the library polls until its process ends.
            runs.add(SuiteRun.of("failures"));
        }
        conforms(mpirun, RANKS, List.of(), List.of(), "cpu", runs.toArray(SuiteRun[]::new));
    }

    /** Runs the suite on another library or on other devices, with a command in front of Java. */
    static void conforms(
            Mpirun mpirun,
            int ranks,
            List<String> prefix,
            List<String> jvmOptions,
            String deviceType,
            SuiteRun... runs)
            throws Exception {
        mpirun.assumeInstalled();
        InetAddress local = InetAddress.getLoopbackAddress();
        try (TcpStoreServer server = TcpStoreServer.bind(new InetSocketAddress(local, 0))) {
            List<String> arguments =
                    new ArrayList<>(List.of(Integer.toString(server.port()), deviceType));
            Stream.of(runs).map(SuiteRun::argument).forEach(arguments::add);
            List<String> command = new ArrayList<>(prefix);
            command.addAll(
                    Mpirun.java(
                            ConformanceMain.class, jvmOptions, arguments.toArray(String[]::new)));
            Mpirun.Outcome outcome = mpirun.run(ranks, command);
            // What one rank says is often only the consequence of another's failure.
            SoftAssertions all = new SoftAssertions();
            try (Store reports = TcpStore.connect("127.0.0.1", server.port(), TIMEOUT)) {
                for (int rank = 0; rank < ranks; rank++) {
                    String report = ProcessRanks.reportOf(rank);
                    assertThat(reports.check(List.of(report)))
                            .as("%s in the store, after:\n%s", report, outcome.output())
                            .isTrue();
                    all.assertThat(new String(reports.get(report), StandardCharsets.UTF_8))
                            .as("of rank %d, which printed:\n%s", rank, outcome.output())
                            .matches(
                                    "([1-9][0-9]* passed, 0 failed, .*\n){%d}"
                                            .formatted(runs.length));
                }
                all.assertAll();
            }
        }
    }
}
