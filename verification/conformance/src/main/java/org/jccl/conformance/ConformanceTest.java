package org.jccl.conformance;

import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;

/**
 * All cases, by family. Families have tags, so that variants of a library can be tested by what
 * differs in them; {@code uneven} are the collectives whose parts have different sizes. A backend's
 * test class extends this one:
 *
 * <pre>{@code
 * final class MyConformanceTest extends ConformanceTest {
 *     @Override
 *     protected ConformanceBackend backend() {
 *         return ConformanceBackend.named("mine");
 *     }
 * }
 * }</pre>
 */
public abstract class ConformanceTest {

    /**
     * Tag of cases that share their world with no other case: they count what ran on it, or only
     * some of its ranks make a call that all have to make.
     */
    static final String NEW_WORLD = "new-world";

    /** For the test class of a backend. */
    protected ConformanceTest() {}

    /**
     * The backend under test; called once a test.
     *
     * @return the backend
     */
    protected abstract ConformanceBackend backend();

    @Nested
    @Tag("reductions")
    final class Reductions extends ReductionCases {
        @Override
        ConformanceBackend backend() {
            return ConformanceTest.this.backend();
        }
    }

    @Nested
    @Tag("gathers")
    final class Gathers extends GatherCases {
        @Override
        ConformanceBackend backend() {
            return ConformanceTest.this.backend();
        }
    }

    @Nested
    @Tag("all-to-all")
    final class AllToAll extends AllToAllCases {
        @Override
        ConformanceBackend backend() {
            return ConformanceTest.this.backend();
        }
    }

    @Nested
    @Tag("coalesced")
    final class Coalesced extends CoalescedCases {
        @Override
        ConformanceBackend backend() {
            return ConformanceTest.this.backend();
        }
    }

    @Nested
    @Tag("messages")
    final class PointToPoint extends PointToPointCases {
        @Override
        ConformanceBackend backend() {
            return ConformanceTest.this.backend();
        }
    }

    @Nested
    @Tag("works")
    final class Works extends WorkCases {
        @Override
        ConformanceBackend backend() {
            return ConformanceTest.this.backend();
        }
    }

    @Nested
    @Tag("groups")
    final class Groups extends GroupCases {
        @Override
        ConformanceBackend backend() {
            return ConformanceTest.this.backend();
        }
    }

    @Nested
    @Tag("arguments")
    final class Arguments extends ArgumentCases {
        @Override
        ConformanceBackend backend() {
            return ConformanceTest.this.backend();
        }
    }

    @Nested
    @Tag("mismatches")
    final class Mismatches extends MismatchCases {
        @Override
        ConformanceBackend backend() {
            return ConformanceTest.this.backend();
        }
    }

    @Nested
    @Tag("failures")
    final class Failures extends FailureCases {
        @Override
        ConformanceBackend backend() {
            return ConformanceTest.this.backend();
        }
    }

    @Nested
    @Tag("failures")
    final class Closing extends ClosingCases {
        @Override
        ConformanceBackend backend() {
            return ConformanceTest.this.backend();
        }
    }

    @Nested
    @Tag("large")
    final class LargeTensors extends LargeTensorCases {
        @Override
        ConformanceBackend backend() {
            return ConformanceTest.this.backend();
        }
    }
}
