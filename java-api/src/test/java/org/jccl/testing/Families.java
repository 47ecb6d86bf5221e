package org.jccl.testing;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * The families of a conformance suite that {@code script/test --all} runs for a test class. The
 * others test code that another class tests in full; they are skipped, except with {@code
 * script/test --nightly}.
 */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.TYPE)
@ExtendWith(Families.Condition.class)
public @interface Families {

    /** Whether this run is to leave out nothing, as in CI and in an IDE. */
    boolean ALL = !System.getProperty("jccl.test.all", "any()").equals("nothing");

    /**
     * The families that always run.
     *
     * @return tags of families
     */
    String[] value();

    /** Skips the other families. */
    final class Condition implements ExecutionCondition {

        /** Tags that are no families. */
        private static final Set<String> TIERS = Set.of("all", "nightly");

        @Override
        public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
            Set<String> tags = new HashSet<>(context.getTags());
            tags.removeAll(TIERS);
            if (ALL
                    || tags.isEmpty()
                    || List.of(always(context)).stream().anyMatch(tags::contains)) {
                return ConditionEvaluationResult.enabled("");
            }
            return ConditionEvaluationResult.disabled(
                    "another class runs this family; script/test --nightly runs it here too");
        }

        /** Nested classes are members of a superclass of the class that has the annotation. */
        private static String[] always(ExtensionContext context) {
            Optional<ExtensionContext> at = Optional.of(context);
            while (at.isPresent()) {
                Optional<Families> families =
                        at.get().getTestClass().map(each -> each.getAnnotation(Families.class));
                if (families.isPresent()) {
                    return families.get().value();
                }
                at = at.get().getParent();
            }
            throw new IllegalStateException("no test class above has @Families");
        }
    }
}
