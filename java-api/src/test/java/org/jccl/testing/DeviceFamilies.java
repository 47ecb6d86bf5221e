package org.jccl.testing;

import java.util.Set;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Runs those families of a conformance suite whose cases depend on streams, copies and failures of
 * the device. The others are skipped, except with {@code script/test --all}: they test code that
 * another binding's tests run in full.
 */
public final class DeviceFamilies implements ExecutionCondition {

    private static final Set<String> FAMILIES = Set.of("messages", "works", "failures");

    /** A tag expression; absent where an IDE runs the tests. */
    private static final String ALL = System.getProperty("jccl.test.all", "any()");

    @Override
    public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
        Set<String> tags = context.getTags();
        boolean runs =
                !ALL.equals("nothing")
                        || tags.isEmpty()
                        || tags.stream().anyMatch(FAMILIES::contains);
        return runs
                ? ConditionEvaluationResult.enabled("")
                : ConditionEvaluationResult.disabled(
                        "runs in full on another device, and here with script/test --all");
    }
}
