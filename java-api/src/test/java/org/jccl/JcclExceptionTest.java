package org.jccl;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class JcclExceptionTest {

    private static final FailureContext WHERE =
            new FailureContext("world", 2, "allReduce(float32 x 4, SUM)", 17);

    @Test
    void messagesSayWhereAndWhy() {
        JcclException failure = new PeerLostException(WHERE, "connection reset");
        assertThat(failure)
                .hasMessage(
                        "group 'world', rank 2, operation 17 allReduce(float32 x 4, SUM):"
                                + " connection reset");
        assertThat(failure.reason()).isEqualTo("connection reset");
        assertThat(failure.context()).isEqualTo(WHERE);
    }

    @Test
    void contextIsAddedOnce() {
        JcclException failure = new MismatchException(FailureContext.NONE, "differs");
        assertThat(failure).hasMessage("differs");
        assertThat(failure.at(WHERE)).isSameAs(failure);
        assertThat(failure.at(FailureContext.ofGroup("other", 0)).context()).isEqualTo(WHERE);
    }

    @Test
    void contextLeavesOutWhatIsNotKnown() {
        assertThat(FailureContext.NONE).hasToString("");
        assertThat(FailureContext.ofGroup("g", 0)).hasToString("group 'g', rank 0");
        assertThat(new FailureContext("", -1, "barrier()", -1)).hasToString("barrier()");
        assertThat(new FailureContext("g", 1, "barrier()", 0))
                .hasToString("group 'g', rank 1, operation 0 barrier()");
    }

    @Test
    void aSmallerGroupsRanksAreNamedByBothNumbers() {
        FailureContext part = new FailureContext("world/split0-1", 1, "", -1, List.of(2, 5));
        assertThat(part.of("barrier()", 0))
                .hasToString(
                        "group 'world/split0-1' (ranks 2, 5 of the world), rank 1 (5 of the world),"
                                + " operation 0 barrier()");
        List<Integer> many = IntStream.range(1, 100).boxed().toList();
        assertThat(new FailureContext("half", 0, "", -1, many).toString())
                .contains("15, 16, ... of the world");
    }

    @Test
    void categoriesSayWhatToDo() {
        assertThat(new UsageException(WHERE, "x").category())
                .isEqualTo(JcclException.Category.USAGE);
        assertThat(new WaitTimeoutException(WHERE, "x").category())
                .isEqualTo(JcclException.Category.RETRYABLE);
        assertThat(new OperationTimeoutException(WHERE, "x").category())
                .isEqualTo(JcclException.Category.FATAL_GROUP);
        assertThat(OperationTimeoutException.ofCall(WHERE, "x", null).copy().category())
                .isEqualTo(JcclException.Category.RETRYABLE);
        assertThat(new PeerLeftException(WHERE, "x", 1).copy().category())
                .isEqualTo(JcclException.Category.FATAL_GROUP);
        assertThat(new PeerLeftException(WHERE, "x", 1).exitCode())
                .as("a restart would fail the same way")
                .isEqualTo(64);
    }

    @Test
    void anotherThreadsFailureIsPrintedOnce() throws Exception {
        List<JcclException> failures = new ArrayList<>();
        Thread watchdog =
                new Thread(
                        () ->
                                failures.addAll(
                                        List.of(
                                                new MismatchException(WHERE, "why it failed"),
                                                new OperationTimeoutException(
                                                        WHERE, "why it failed"),
                                                new GroupAbortedException(WHERE, "why it failed"),
                                                new PeerLostException(WHERE, "why it failed", 1),
                                                new PeerLeftException(WHERE, "why it failed", 1),
                                                new UsageException(WHERE, "why it failed"),
                                                new NativeException(
                                                        WHERE, "libx", 3, "why it failed"),
                                                new StoreTimeoutException("why it failed", null),
                                                new StoreException(
                                                        "why it failed",
                                                        new IOException("reset")))));
        watchdog.start();
        watchdog.join();
        for (JcclException failure : failures) {
            JcclException thrown = failure.forCaller();
            assertThat(thrown).isNotSameAs(failure).hasSameClassAs(failure);
            assertThat(thrown).hasMessage(failure.getMessage());
            assertThat(thrown.getCause()).isSameAs(failure.getCause());
            StringWriter printed = new StringWriter();
            thrown.printStackTrace(new PrintWriter(printed));
            assertThat(printed.toString())
                    .containsOnlyOnce("why it failed")
                    .contains("anotherThreadsFailureIsPrintedOnce");
        }
    }

    @Test
    void survivesSerialisationWithoutItsContext() throws Exception {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
            out.writeObject(new MismatchException(WHERE, "differs"));
        }
        try (ObjectInputStream in =
                new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
            JcclException read = (JcclException) in.readObject();
            assertThat(read.context()).isEqualTo(FailureContext.NONE);
            assertThat(read.reason()).isEqualTo("differs");
        }
    }
}
