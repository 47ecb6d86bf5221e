package org.jccl.mpi;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.assertj.core.api.SoftAssertions;
import org.jccl.Store;
import org.jccl.store.TcpStore;
import org.jccl.store.TcpStoreServer;
import org.jccl.testing.Families;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** The conformance suite with a process for each rank, under both launchers. */
@Execution(ExecutionMode.CONCURRENT)
@Timeout(600)
class MpiConformanceTest {

    static final int RANKS = 4;
    private static final Duration TIMEOUT = Duration.ofSeconds(30);

    static Stream<Arguments> modes() {
        return Stream.of(Mpirun.values())
                .flatMap(mpirun -> Stream.of(false, true).map(on -> Arguments.of(mpirun, on)));
    }

    /**
     * Without {@code script/test --all}, MPICH leaves out what {@link StandardAbiTest} runs on it,
     * and the failures, which wait for deadlines.
     */
    @ParameterizedTest
    @MethodSource("modes")
    void conforms(Mpirun mpirun, boolean checked) throws Exception {
        boolean full = Families.ALL || checked || mpirun == Mpirun.OPEN_MPI;
        String families = full ? "any()" : "!(reductions | gathers | messages | failures)";
        conforms(mpirun, RANKS, List.of(), List.of(), checked, "cpu", families);
    }

    /**
     * A few kilobytes stand for the gigabyte from which on tensors go in parts or as derived types.
     */
    @ParameterizedTest
    @EnumSource(Mpirun.class)
    void conformsWhereTensorsAreTooLargeForOneCall(Mpirun mpirun) throws Exception {
        List<String> jvmOptions = List.of("-D" + ConformanceMain.LARGEST_CALL + "=3000");
        String families = "gathers | messages";
        if (Families.ALL || mpirun == Mpirun.MPICH) {
            families += " | reductions | all-to-all";
        }
        conforms(mpirun, RANKS, List.of(), jvmOptions, false, "cpu", families);
    }

    /**
     * Runs the families that a tag expression says on another library or on other devices, with a
     * command in front of Java.
     */
    static void conforms(
            Mpirun mpirun,
            int ranks,
            List<String> prefix,
            List<String> jvmOptions,
            boolean checked,
            String deviceType,
            String families)
            throws Exception {
        mpirun.assumeInstalled();
        InetAddress local = InetAddress.getLoopbackAddress();
        try (TcpStoreServer server = TcpStoreServer.bind(new InetSocketAddress(local, 0))) {
            List<String> command = new ArrayList<>(prefix);
            command.addAll(
                    Mpirun.java(
                            ConformanceMain.class,
                            jvmOptions,
                            Integer.toString(server.port()),
                            Boolean.toString(checked),
                            deviceType,
                            families));
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
                            .containsPattern("(?m)^[1-9][0-9]* passed, 0 failed");
                }
                all.assertAll();
            }
        }
    }
}
