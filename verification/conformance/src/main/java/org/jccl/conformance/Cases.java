package org.jccl.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jccl.DataType;
import org.jccl.JcclException;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * A family of cases. Ranks wait for each other most of the time, so cases run beside each other if
 * JUnit is configured to.
 */
@Execution(ExecutionMode.CONCURRENT)
abstract class Cases {

    /** Counts that are no multiples of anything, the empty tensor included. */
    static final int[] COUNTS = {0, 1, 3, 17, 1000};

    private static final int[] ONE_COUNT = {17};

    /** Elements of a tensor that is larger than socket and segment buffers. */
    static final int LARGE = 300_007;

    private static final int FEW_RANKS = 4;

    abstract ConformanceBackend backend();

    /**
     * Counts to move a type with. Moving depends on the size of elements only, so all counts are
     * for the smallest and for a usual size.
     */
    static int[] counts(DataType type) {
        return type == DataType.UINT8 || type == DataType.FLOAT32 ? COUNTS : ONE_COUNT;
    }

    @BeforeEach
    void skipWhatTheBackendLacks(TestInfo test) {
        missing(test.getTestMethod().orElseThrow(), backend())
                .ifPresent(
                        lacking ->
                                Assumptions.abort(
                                        "this backend has no "
                                                + lacking
                                                + ": "
                                                + lacking.absence()));
    }

    /** The first capability that a case or its family needs and a backend lacks. */
    static Optional<Capability> missing(Method test, ConformanceBackend backend) {
        return Stream.<AnnotatedElement>of(test.getDeclaringClass(), test)
                .map(element -> element.getAnnotation(Needs.class))
                .filter(needs -> needs != null)
                .flatMap(needs -> Arrays.stream(needs.value()))
                .filter(needed -> !backend.has(needed))
                .findFirst();
    }

    void onRanks(int size, Ranks.Body body) {
        Assumptions.assumeTrue(
                size <= FEW_RANKS || backend().has(Capability.MANY_RANKS),
                Capability.MANY_RANKS::absence);
        backend().ranks().run(size, body);
    }

    /**
     * An exception shows the line of the program that failed, also if the watchdog or another rank
     * found the failure.
     */
    static void showsTheCaller(Throwable thrown) {
        assertThat(thrown.getStackTrace())
                .as("stack trace")
                .anyMatch(frame -> frame.getClassName().startsWith("org.jccl.conformance."));
    }

    /** The category of an exception agrees with whether the group is usable after it. */
    static void agrees(Rank rank, Throwable thrown) {
        assertThat(rank.group().failure().isPresent())
                .as("the group has failed after " + thrown)
                .isEqualTo(
                        ((JcclException) thrown).category() == JcclException.Category.FATAL_GROUP);
    }

    /** What an action throws, or null, once its own thread has run it. */
    static CompletableFuture<Throwable> inThread(ThrowingCallable action) {
        CompletableFuture<Throwable> outcome = new CompletableFuture<>();
        Thread thread = new Thread(() -> outcome.complete(catchThrowable(action)), "inside");
        thread.setDaemon(true);
        thread.start();
        return outcome;
    }

    static Throwable outcome(CompletableFuture<Throwable> thread) throws Exception {
        return thread.get(Ranks.onThisHost(20).toMillis(), TimeUnit.MILLISECONDS);
    }
}
