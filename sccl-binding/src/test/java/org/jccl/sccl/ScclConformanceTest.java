package org.jccl.sccl;

import java.lang.reflect.Method;
import java.util.Map;
import java.util.stream.IntStream;
import org.jccl.Stream;
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

    private static int next;

    @Override
    protected ConformanceBackend backend() {
        int[] first = {-1};
        return new ScclBackend(ScclOptions.defaults(), rank -> first(first) + rank);
    }

    /** The first device of a test, chosen when its first rank joins. */
    private static synchronized int first(int[] chosen) {
        int devices = Integer.parseInt(System.getenv("MOCK_DEVICES"));
        while (chosen[0] < 0) {
            next = next + 2 * MOST_RANKS > devices ? 0 : next + MOST_RANKS;
            boolean idle =
                    IntStream.range(next, next + MOST_RANKS)
                            .allMatch(device -> Stream.current(World.tpu(device)).query());
            chosen[0] = idle ? next : -1;
        }
        return chosen[0];
    }

    /** Leaves out what a device with one stream, without abort, can not do. */
    static final class Excluded implements ExecutionCondition {

        private static final String COPIES =
                "copies a tensor while a message waits for its partner, on the device's one stream";

        private static final Map<String, String> REASONS =
                Map.of(
                        "aMessageThatIsNeverSentEndsAtTheDeadline",
                        COPIES,
                        "abortEndsWorksAndLaterCallsCarryTheFirstCause",
                        COPIES,
                        "worksThatNobodyAwaitsCompleteAndLetGoOfTheirMemory",
                        COPIES,
                        "closingGivesUpMessagesWithoutPartner",
                        COPIES);

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
