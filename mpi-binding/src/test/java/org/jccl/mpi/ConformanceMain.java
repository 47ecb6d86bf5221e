package org.jccl.mpi;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.Optional;
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
 * Runs the conformance suite as one rank of a job, and prints what failed. MPI notices few
 * differences between ranks by itself, so cases of mismatch run with checks, and the others as
 * users run without options.
 *
 * <p>Arguments: port of the store, whether with checks, type of the device, and optionally a tag
 * expression that says which families to run. The property {@value #LARGEST_CALL} says from how
 * many bytes tensors are treated as too large for one call.
 */
final class ConformanceMain {

    static final String LARGEST_CALL = "jccl.test.largest-call";

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
        boolean checked = Boolean.parseBoolean(arguments[1]);
        String families = arguments.length > 3 ? arguments[3] : "any()";
        ranks = new ProcessRanks(Integer.parseInt(arguments[0]), checked, arguments[2]);
        Optional.ofNullable(Long.getLong(LARGEST_CALL)).ifPresent(MpiNative::setLargestCall);
        LauncherDiscoveryRequest request =
                LauncherDiscoveryRequestBuilder.request()
                        .selectors(selectClass(Suite.class))
                        .filters(
                                TagFilter.includeTags(families),
                                (PostDiscoveryFilter)
                                        test ->
                                                FilterResult.includedIf(
                                                        checked == isMismatch(test)))
                        .build();
        SummaryGeneratingListener listener = new SummaryGeneratingListener();
        LauncherFactory.create().execute(request, listener);
        TestExecutionSummary summary = listener.getSummary();
        StringWriter text = new StringWriter();
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
                        + " skipped\n");
        ranks.report(text.toString());
    }
}
