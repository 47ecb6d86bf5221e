package org.jccl.conformance;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import java.io.PrintStream;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Store;
import org.jccl.Tensor;
import org.jccl.bootstrap.Rendezvous;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.TestInfo;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.launcher.TagFilter;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/**
 * Runs the conformance suite as one rank of a job under {@code jccl run}, on real devices. Prints
 * each case; fails when one failed or none passed.
 */
public final class SmokeSuite {

    /** How long ranks wait for each other, which may start late on a busy machine. */
    private static final Duration PATIENCE = Duration.ofSeconds(90);

    /** Set before the tests; JUnit makes test objects without arguments. */
    private static Rendezvous job;

    private static ConformanceBackend device;

    private static final Worlds WORLDS = new Worlds();

    /**
     * Tags of cases that must have a world of their own: they break it, or count what ran on it.
     */
    private static final Set<String> APART =
            Set.of("failures", "mismatches", ConformanceTest.NEW_WORLD);

    private SmokeSuite() {}

    /** The suite, whose ranks are the job's. */
    static final class Suite extends ConformanceTest {

        private LaunchedBackend backend;

        @BeforeEach
        void prepare(TestInfo info) {
            String test =
                    info.getTestClass().orElseThrow().getSimpleName()
                            + "."
                            + info.getTestMethod().orElseThrow().getName()
                            + info.getDisplayName().replace(' ', '-');
            boolean shares = Collections.disjoint(info.getTags(), APART);
            backend = new LaunchedBackend(device, job, test, shares ? WORLDS : null);
        }

        @Override
        protected ConformanceBackend backend() {
            return backend;
        }
    }

    /** A device's backend whose ranks are processes. */
    private static final class LaunchedBackend implements ConformanceBackend {

        private final ConformanceBackend own;
        private final ProcessRanks ranks;

        LaunchedBackend(ConformanceBackend own, Rendezvous job, String test, Worlds worlds) {
            this.own = own;
            this.ranks =
                    new ProcessRanks(
                            this,
                            job.membership().rank(),
                            job.membership().worldSize(),
                            job.store(),
                            test,
                            worlds);
        }

        @Override
        public ProcessGroup join(Store store, int rank, int size, Duration timeout) {
            return own.join(store, rank, size, timeout);
        }

        @Override
        public Ranks ranks() {
            return ranks;
        }

        /** Real devices may get through with wrong data. */
        @Override
        public boolean has(Capability capability) {
            return capability != Capability.STUCK_MISMATCHES && own.has(capability);
        }

        @Override
        public String deviceType() {
            return own.deviceType();
        }

        @Override
        public boolean reduces(ReduceOp op, DataType type) {
            return own.reduces(op, type);
        }

        @Override
        public boolean refuses(ReduceOp op, DataType type) {
            return own.refuses(op, type);
        }

        @Override
        public Tensor allocate(DataType type, int count) {
            // The backend knows a thread's device only where the thread has formed the world.
            Device mine =
                    ranks.group().devices().stream()
                            .filter(device -> device.type().equals(own.deviceType()))
                            .findFirst()
                            .orElseThrow();
            return Tensor.allocate(mine, type, count);
        }

        @Override
        public void write(Tensor tensor, byte[] elements) {
            own.write(tensor, elements);
        }

        @Override
        public byte[] read(Tensor tensor) {
            return own.read(tensor);
        }
    }

    /** Prints and counts. */
    private static final class Results implements TestExecutionListener {

        private final PrintStream out;
        private final Map<String, Integer> skipped = new TreeMap<>();
        private int passed;
        private int failed;

        /** When the last case or family began. Cases run one after the other. */
        private long start;

        Results(PrintStream out) {
            this.out = out;
        }

        @Override
        public void executionStarted(TestIdentifier test) {
            start = System.nanoTime();
        }

        private long millis() {
            return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start);
        }

        @Override
        public void executionFinished(TestIdentifier test, TestExecutionResult result) {
            String name = test.getUniqueId().replaceAll(".*nested-class:|[\\[\\]()]", "");
            String reason = result.getThrowable().map(Throwable::toString).orElse("");
            switch (result.getStatus()) {
                case SUCCESSFUL -> {
                    if (test.isTest()) {
                        passed++;
                        out.println("passed  " + name + ", " + millis() + " ms");
                    }
                }
                case ABORTED ->
                        skipped.merge(
                                result.getThrowable().map(Throwable::getMessage).orElse(""),
                                1,
                                Integer::sum);
                case FAILED -> {
                    failed++;
                    out.println("FAILED  " + name + ": " + reason);
                    result.getThrowable().ifPresent(thrown -> thrown.printStackTrace(out));
                }
            }
        }
    }

    /**
     * Runs the suite, then ends the process: with 0 when no case failed.
     *
     * @param backend on this rank's device
     * @param without tags of families that are left out, for instance {@code failures} where a
     *     library cannot end what it has begun: the device would be stuck for all that follows
     */
    public static void run(ConformanceBackend backend, String... without) {
        device = backend;
        job =
                Rendezvous.join(
                        "env://",
                        OptionalInt.empty(),
                        OptionalInt.empty(),
                        PATIENCE,
                        System.getenv());
        LauncherDiscoveryRequestBuilder request =
                LauncherDiscoveryRequestBuilder.request()
                        .selectors(selectClass(Suite.class))
                        .configurationParameter("junit.jupiter.execution.timeout.default", "60 s")
                        .configurationParameter(
                                "junit.jupiter.execution.timeout.thread.mode.default",
                                "SEPARATE_THREAD");
        if (without.length > 0) {
            request.filters(TagFilter.excludeTags(without));
        }
        Results results = new Results(System.out);
        LauncherFactory.create().execute(request.build(), results);
        boolean closed = close();
        results.skipped.forEach(
                (reason, cases) -> System.out.println(cases + " skipped: " + reason));
        System.out.println(
                results.passed
                        + " passed, "
                        + results.failed
                        + " failed, "
                        + results.skipped.values().stream().mapToInt(Integer::intValue).sum()
                        + " skipped"
                        + (without.length == 0 ? "" : "; left out: " + List.of(without)));
        // A case that hung may have left threads inside the library.
        Runtime.getRuntime().halt(closed && results.failed == 0 && results.passed > 0 ? 0 : 1);
    }

    private static boolean close() {
        try {
            WORLDS.close();
            return true;
        } catch (RuntimeException e) {
            System.out.println("FAILED  closing the worlds: " + e);
            e.printStackTrace(System.out);
            return false;
        }
    }
}
