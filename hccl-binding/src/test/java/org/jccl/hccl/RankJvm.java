package org.jccl.hccl;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.Optional;
import org.jccl.Store;
import org.jccl.conformance.ConformanceBackend;
import org.jccl.conformance.ProcessRanks;
import org.jccl.conformance.Ranks;
import org.jccl.store.TcpStore;
import org.junit.platform.launcher.TagFilter;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.junit.platform.launcher.listeners.SummaryGeneratingListener;
import org.junit.platform.launcher.listeners.TestExecutionSummary;

/** Tests in a process that is one rank of each of their worlds. */
final class RankJvm {

    static final String RANK = "jccl.test.rank";
    static final String STORE_PORT = "jccl.test.store";

    /** For files of all ranks: those of a mock's world read one rank table. */
    static final String FOLDER = "jccl.test.folder";

    /** As many as the largest world of these tests has. */
    static final int RANKS = 5;

    /** Begins the line that tells how many tests passed. */
    static final String COUNT = "tests of this rank: ";

    /** Families of the suite that run too; empty for none. */
    static final String FAMILIES = "jccl.test.families";

    private static Store store;
    private static int tests;

    private RankJvm() {}

    /** Ranks of the next test, if this process is one; the same test in all processes. */
    static synchronized Optional<Ranks> ranks(ConformanceBackend backend) {
        Integer rank = Integer.getInteger(RANK);
        if (rank == null) {
            return Optional.empty();
        }
        if (store == null) {
            store = TcpStore.connect("127.0.0.1", Integer.getInteger(STORE_PORT), World.TIMEOUT);
        }
        return Optional.of(new ProcessRanks(backend, rank, RANKS, store, "test-" + tests++));
    }

    /** Where the ranks of the next test share files, if they are processes. */
    static Optional<Path> folder() {
        return Optional.ofNullable(System.getProperty(FOLDER)).map(Path::of);
    }

    /**
     * Runs the tests and ends with 0 if none failed.
     *
     * @param arguments none
     */
    public static void main(String[] arguments) {
        LauncherDiscoveryRequestBuilder request =
                LauncherDiscoveryRequestBuilder.request()
                        .selectors(
                                selectClass(CollectivesTest.class),
                                selectClass(RankTableTest.class))
                        .configurationParameter("junit.jupiter.execution.timeout.default", "90 s")
                        .configurationParameter(
                                "junit.jupiter.execution.timeout.thread.mode.default",
                                "SEPARATE_THREAD");
        String families = System.getProperty(FAMILIES, "");
        if (!families.isEmpty()) {
            request.selectors(selectClass(HcclConformanceTest.class))
                    .filters(TagFilter.includeTags("none() | " + families));
        }
        SummaryGeneratingListener listener = new SummaryGeneratingListener();
        LauncherFactory.create().execute(request.build(), listener);
        TestExecutionSummary summary = listener.getSummary();
        summary.printFailuresTo(new PrintWriter(System.out, true));
        System.out.println(
                COUNT
                        + summary.getTestsSucceededCount()
                        + " passed, "
                        + summary.getTestsAbortedCount()
                        + " skipped");
        boolean well = summary.getTotalFailureCount() == 0 && summary.getTestsSucceededCount() > 0;
        Runtime.getRuntime().halt(well ? 0 : 1);
    }
}
