package org.jccl.hccl;

import java.lang.reflect.Method;
import java.util.Map;
import org.jccl.conformance.ConformanceBackend;
import org.jccl.conformance.ConformanceTest;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;

/** The suite on HCCL's mock, whose streams delay each operation at random; a device a rank. */
@ExtendWith(HcclConformanceTest.OfHostLibraries.class)
final class HcclConformanceTest extends ConformanceTest {

    @Override
    protected ConformanceBackend backend() {
        return new DeviceBackend();
    }

    /** Leaves out the cases of what only libraries of host memory do. */
    static final class OfHostLibraries implements ExecutionCondition {

        private static final String TAGS = "HCCL has no tags and receives from named peers only";
        private static final String BLOCKING =
                "a synchronous call on a stream returns before it is done and has no deadline";
        private static final String ONE_STREAM =
                "operations on one stream run in its order, so ranks must issue them in one order";

        private static final String SENDS_WAIT =
                "a send waits for its receive, so two ranks that send first wait for each other";

        private static final Map<String, String> REASONS =
                Map.of(
                        "PointToPoint", TAGS,
                        "Mismatches", "HCCL does not compare the ranks' arguments",
                        "aWorldKnowsItself", "asks for a backend of the CPU",
                        "worksThatNobodyAwaitsCompleteAndLetGoOfTheirMemory", SENDS_WAIT,
                        "groupsWorkAtTheSameTimeFromDifferentThreads", ONE_STREAM,
                        "closingGivesUpMessagesWithoutPartner", ONE_STREAM,
                        "manyOutstandingMessagesAreAwaitedInAnyOrder", TAGS,
                        "aMessageThatIsNeverSentEndsAtTheDeadline", TAGS,
                        "abortWakesWhoIsInsideAndLaterCallsCarryTheFirstCause", BLOCKING,
                        "anAbsentRankIsNamedAtTheDeadline", BLOCKING);

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
