package org.jccl.mpi;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import org.jccl.conformance.ConformanceBackend;
import org.jccl.conformance.ConformanceTest;
import org.junit.platform.engine.FilterResult;
import org.junit.platform.engine.TestDescriptor;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.PostDiscoveryFilter;
import org.junit.platform.launcher.TagFilter;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.junit.platform.launcher.listeners.SummaryGeneratingListener;
import org.junit.platform.launcher.listeners.TestExecutionSummary;

/**
 * Runs the conformance suite as one rank of a job, once or several times, and reports what failed.
 *
 * <p>Arguments: port of the store, type of the device, and one or more {@linkplain SuiteRun runs}
 * of the suite.
 */
final class ConformanceMain {

    /** JCCL's own limit. */
    private static final long GIBIBYTE = 1L << 30;

    /**
     * How the suite runs. MPI notices few differences between ranks by itself, so cases of mismatch
     * run with checks, and the others as users run without options.
     *
     * @param largestCall from how many bytes on tensors are treated as too large for one call
     * @param families a tag expression
     */
    record SuiteRun(boolean checked, long largestCall, String families) {

        static SuiteRun of(String families) {
            return new SuiteRun(false, GIBIBYTE, families);
        }

        /** The cases of mismatch. */
        static SuiteRun checkedOf(String families) {
            return new SuiteRun(true, GIBIBYTE, families);
        }

        /**
         * A few kilobytes stand for the gigabyte from which on tensors go in parts or as derived
         * types.
         */
        static SuiteRun ofLargeTensors(String families) {
            return new SuiteRun(false, 3000, families);
        }

        String argument() {
            return checked + "," + largestCall + "," + families;
        }

        static SuiteRun parse(String argument) {
            String[] parts = argument.split(",", 3);
            return new SuiteRun(Boolean.parseBoolean(parts[0]), Long.parseLong(parts[1]), parts[2]);
        }
    }

    /** Of this process; JUnit makes an instance of the suite for each test. */
    private static ProcessRanks ranks;

    private ConformanceMain() {}

    /** The suite on the ranks of this job. */
    static final class Suite extends ConformanceTest {

        @Override
        protected ConformanceBackend backend() {
            return ranks.backend();
        }
    }

    private static boolean isMismatch(TestDescriptor test) {
        return test.getUniqueId().toString().contains("nested-class:Mismatches");
    }

    public static void main(String[] arguments) {
        ranks = new ProcessRanks(Integer.parseInt(arguments[0]), arguments[1]);
        StringWriter text = new StringWriter();
        for (String argument : List.of(arguments).subList(2, arguments.length)) {
            run(SuiteRun.parse(argument), text);
        }
        ranks.report(text.toString());
    }

    private static void run(SuiteRun run, StringWriter text) {
        ranks.useChecks(run.checked());
        MpiNative.setLargestCall(run.largestCall());
        LauncherDiscoveryRequest request =
                LauncherDiscoveryRequestBuilder.request()
                        .selectors(selectClass(Suite.class))
                        .filters(
                                TagFilter.includeTags(run.families()),
                                (PostDiscoveryFilter)
                                        test ->
                                                FilterResult.includedIf(
                                                        run.checked() == isMismatch(test)))
                        .build();
        SummaryGeneratingListener listener = new SummaryGeneratingListener();
        LauncherFactory.create().execute(request, listener);
        TestExecutionSummary summary = listener.getSummary();
        for (TestExecutionSummary.Failure failure : summary.getFailures()) {
            text.append("FAILED " + failure.getTestIdentifier().getUniqueId() + "\n");
            failure.getException().printStackTrace(new PrintWriter(text, true));
        }
        text.append(
                summary.getTestsSucceededCount()
                        + " passed, "
                        + summary.getTestsFailedCount()
                        + " failed, "
                        + summary.getTestsAbortedCount()
                        + " skipped, "
                        + run
                        + "\n");
    }
}
