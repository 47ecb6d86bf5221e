package org.jccl.nccl;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import java.io.PrintStream;
import org.jccl.bootstrap.Rendezvous;
import org.jccl.conformance.Capability;
import org.jccl.conformance.ConformanceBackend;
import org.jccl.conformance.ConformanceTest;
import org.jccl.conformance.LaunchedRank;
import org.jccl.conformance.Ranks;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.TestInfo;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/**
 * Runs the conformance suite as one rank of a job under {@code jccl run}, all ranks on the first
 * device. Prints each case; fails when one failed or none passed.
 */
final class ConformanceRun {

    /** Joined once, before the tests; JUnit makes test objects without arguments. */
    private static Rendezvous job;

    private ConformanceRun() {}

    /** The suite, whose ranks are the job's. */
    static final class Suite extends ConformanceTest {

        private String test;

        @BeforeEach
        void noteTest(TestInfo info) {
            test =
                    info.getTestClass().orElseThrow().getSimpleName()
                            + "."
                            + info.getTestMethod().orElseThrow().getName()
                            + info.getDisplayName().replace(' ', '-');
        }

        @Override
        protected ConformanceBackend backend() {
            return new Backend(test);
        }
    }

    private static final class Backend extends NcclBackend {

        private static ProcessRanks ranks;
        private static String ranksOf;

        private final String test;

        Backend(String test) {
            super(NcclOptions.defaults(), rank -> 0);
            this.test = test;
        }

        /** Real devices may get through with wrong data. */
        @Override
        public boolean has(Capability capability) {
            return capability != Capability.STUCK_MISMATCHES && super.has(capability);
        }

        @Override
        public Ranks ranks() {
            synchronized (Backend.class) {
                // A test asks for its backend as often as it likes; its bodies are counted on.
                if (!test.equals(ranksOf)) {
                    ranksOf = test;
                    ranks =
                            new ProcessRanks(
                                    this,
                                    job.membership().rank(),
                                    job.membership().worldSize(),
                                    job.store(),
                                    test);
                }
                return ranks;
            }
        }
    }

    /** Prints and counts. */
    private static final class Results implements TestExecutionListener {

        private final PrintStream out;
        private int passed;
        private int skipped;
        private int failed;

        Results(PrintStream out) {
            this.out = out;
        }

        @Override
        public void executionFinished(TestIdentifier test, TestExecutionResult result) {
            String name = test.getUniqueId().replaceAll(".*nested-class:|[\\[\\]()]", "");
            String reason = result.getThrowable().map(Throwable::toString).orElse("");
            switch (result.getStatus()) {
                case SUCCESSFUL -> {
                    if (test.isTest()) {
                        passed++;
                        out.println("passed  " + name);
                    }
                }
                case ABORTED -> {
                    skipped++;
                    out.println("skipped " + name + ": " + reason);
                }
                case FAILED -> {
                    failed++;
                    out.println("FAILED  " + name + ": " + reason);
                    result.getThrowable().ifPresent(thrown -> thrown.printStackTrace(out));
                }
            }
        }
    }

    /**
     * Runs the suite.
     *
     * @param arguments none
     */
    public static void main(String[] arguments) {
        job = LaunchedRank.join();
        LauncherDiscoveryRequest request =
                LauncherDiscoveryRequestBuilder.request()
                        .selectors(selectClass(Suite.class))
                        .configurationParameter("junit.jupiter.execution.timeout.default", "60 s")
                        .configurationParameter(
                                "junit.jupiter.execution.timeout.thread.mode.default",
                                "SEPARATE_THREAD")
                        .build();
        Results results = new Results(System.out);
        LauncherFactory.create().execute(request, results);
        System.out.println(
                results.passed
                        + " passed, "
                        + results.failed
                        + " failed, "
                        + results.skipped
                        + " skipped");
        // A case that hung may have left threads inside the library.
        Runtime.getRuntime().halt(results.failed == 0 && results.passed > 0 ? 0 : 1);
    }
}
