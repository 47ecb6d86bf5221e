package org.jccl.sccl;

import java.lang.reflect.Method;
import java.util.Map;
import java.util.function.IntUnaryOperator;
import org.jccl.Device;
import org.jccl.Stream;
import org.jccl.conformance.ConformanceBackend;
import org.jccl.conformance.ConformanceTest;
import org.jccl.testing.OwnDevices;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * The suite on SCCL's mock, whose streams delay each operation at random; a device a rank. Nothing
 * ends an operation whose peer never comes.
 */
@ExtendWith(ScclConformanceTest.Excluded.class)
final class ScclConformanceTest extends ConformanceTest {

    @Override
    protected ConformanceBackend backend() {
        return new ScclBackend(ScclOptions.defaults(), ownDevices());
    }

    /** Devices of this test alone, for each rank one. */
    static IntUnaryOperator ownDevices() {
        return OwnDevices.of(ScclProvider.DEVICE_TYPE, ScclConformanceTest::synchronizeDevice);
    }

    /** Its one stream is all there is. */
    private static void synchronizeDevice(int index) {
        Stream.current(new Device(ScclProvider.DEVICE_TYPE, index)).synchronize();
    }

    /** Leaves out what a device with one stream, without abort, cannot do. */
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
                        COPIES,
                        "tensorsOfAWorkThatNobodyAwaitedAreNeitherReadNorWritten",
                        "a copy waits for the work, on the device's one stream");

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
