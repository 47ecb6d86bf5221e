package org.jccl.sccl;

import static java.util.Map.entry;

import java.lang.reflect.Method;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.jccl.conformance.ConformanceBackend;
import org.jccl.conformance.ConformanceTest;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * The suite on SCCL's mock, whose streams delay each operation at random; a device a rank. Each
 * test has devices of its own, since nothing ends an operation whose peer never comes.
 */
@ExtendWith(ScclConformanceTest.Excluded.class)
final class ScclConformanceTest extends ConformanceTest {

    private static final int MOST_RANKS = 5;

    private static final AtomicInteger NEXT_DEVICE = new AtomicInteger();

    @Override
    protected ConformanceBackend backend() {
        int first = NEXT_DEVICE.getAndAdd(MOST_RANKS);
        int devices = Integer.parseInt(System.getenv("MOCK_DEVICES"));
        return new DeviceBackend(rank -> World.tpu((first + rank) % devices));
    }

    /** Leaves out the cases of what only libraries of host memory do. */
    static final class Excluded implements ExecutionCondition {

        private static final String TAGS = "SCCL has no tags and receives from named peers only";
        private static final String BLOCKING =
                "a synchronous call on a stream returns before it is done and has no deadline";
        private static final String ONE_STREAM =
                "a device has one stream, so ranks must issue all operations in one order";

        private static final Map<String, String> REASONS =
                Map.ofEntries(
                        entry("PointToPoint", TAGS),
                        entry("Mismatches", "SCCL does not compare the ranks' arguments"),
                        entry("aWorldKnowsItself", "asks for a backend of the CPU"),
                        entry("groupsWorkAtTheSameTimeFromDifferentThreads", ONE_STREAM),
                        entry("closingGivesUpMessagesWithoutPartner", ONE_STREAM),
                        entry("manyOutstandingMessagesAreAwaitedInAnyOrder", TAGS),
                        entry("aMessageThatIsNeverSentEndsAtTheDeadline", TAGS),
                        entry(
                                "worksThatNobodyAwaitsCompleteAndLetGoOfTheirMemory",
                                "both ranks send before they receive, which only a batch may"),
                        entry("abortWakesWhoIsInsideAndLaterCallsCarryTheFirstCause", BLOCKING),
                        entry("anAbsentRankIsNamedAtTheDeadline", BLOCKING));

        @Override
        public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
            String name =
                    context.getTestMethod()
                            .map(Method::getName)
                            .or(() -> context.getTestClass().map(Class::getSimpleName))
                            .orElse("");
            String reason = REASONS.get(name);
            return reason == null
                    ? ConditionEvaluationResult.enabled("")
                    : ConditionEvaluationResult.disabled(reason);
        }
    }
}
