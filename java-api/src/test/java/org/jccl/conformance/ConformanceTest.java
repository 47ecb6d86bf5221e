package org.jccl.conformance;

import org.junit.jupiter.api.Nested;

/**
 * All cases, by family. A backend's test class extends this one:
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
     * The backend under test; called once a test.
     *
     * @return the backend
     */
    protected abstract ConformanceBackend backend();

    @Nested
    final class Reductions extends ReductionCases {
        @Override
        ConformanceBackend backend() {
            return ConformanceTest.this.backend();
        }
    }

    @Nested
    final class Gathers extends GatherCases {
        @Override
        ConformanceBackend backend() {
            return ConformanceTest.this.backend();
        }
    }

    @Nested
    final class AllToAll extends AllToAllCases {
        @Override
        ConformanceBackend backend() {
            return ConformanceTest.this.backend();
        }
    }

    @Nested
    final class PointToPoint extends PointToPointCases {
        @Override
        ConformanceBackend backend() {
            return ConformanceTest.this.backend();
        }
    }

    @Nested
    final class Works extends WorkCases {
        @Override
        ConformanceBackend backend() {
            return ConformanceTest.this.backend();
        }
    }

    @Nested
    final class Groups extends GroupCases {
        @Override
        ConformanceBackend backend() {
            return ConformanceTest.this.backend();
        }
    }

    @Nested
    final class Arguments extends ArgumentCases {
        @Override
        ConformanceBackend backend() {
            return ConformanceTest.this.backend();
        }
    }

    @Nested
    final class Mismatches extends MismatchCases {
        @Override
        ConformanceBackend backend() {
            return ConformanceTest.this.backend();
        }
    }

    @Nested
    final class Failures extends FailureCases {
        @Override
        ConformanceBackend backend() {
            return ConformanceTest.this.backend();
        }
    }
}
