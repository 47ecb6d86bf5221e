package org.jccl.hccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.testing.Patience.expires;

import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.jccl.DataType;
import org.jccl.Event;
import org.jccl.JcclException;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Stream;
import org.jccl.Tensor;
import org.jccl.Work;
import org.jccl.conformance.StagedBackend;
import org.jccl.gloo.GlooOptions;
import org.jccl.testing.Attempts;
import org.jccl.testing.ChildJvm;
import org.jccl.testing.FullDevice;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Failures of the vendor's libraries. */
@Execution(ExecutionMode.CONCURRENT)
@Tag("all")
final class FaultTest {

    /** Reduces on two ranks. */
    static final class Reductions {

        private Reductions() {}

        public static void main(String[] arguments) {
            World.run(
                    2,
                    expires(Duration.ofSeconds(12)),
                    HcclOptions.defaults(),
                    (group, device) -> {
                        try (Tensor tensor = Tensor.allocate(device, DataType.FLOAT32, 4)) {
                            Attempts.print(
                                    group,
                                    () -> group.allReduce(tensor, ReduceOp.SUM).synchronize());
                        }
                    });
            System.out.println("all closed");
            // A device may still be stuck, which HCCL cannot end.
            Runtime.getRuntime().halt(0);
        }
    }

    private static void fill(Tensor tensor) {
        tensor.copyFrom(new float[] {1, 2, 3, 4});
    }

    /** Says whether it is the sum of what two ranks have filled in. */
    private static void printResult(Tensor tensor) {
        float sum = tensor.copyTo(new float[4])[3];
        System.out.println(sum == 8 ? "right" : "wrong " + sum);
    }

    /** Reduces on two ranks, and reads what comes of it. */
    static final class Results {

        private Results() {}

        public static void main(String[] arguments) {
            World.run(
                    2,
                    expires(Duration.ofSeconds(5)),
                    HcclOptions.defaults(),
                    (group, device) -> {
                        // Not closed: a device may still be stuck.
                        Tensor tensor = Tensor.allocate(device, DataType.FLOAT32, 4);
                        Attempts.print(
                                group,
                                () -> {
                                    fill(tensor);
                                    group.allReduce(tensor, ReduceOp.SUM).await();
                                    printResult(tensor);
                                });
                    });
            Runtime.getRuntime().halt(0);
        }
    }

    /** Reduces on one stream, and reads what comes of it on another that was ordered behind it. */
    static final class OrderedResults {

        private OrderedResults() {}

        @SuppressWarnings("try") // The scope is there to be closed.
        public static void main(String[] arguments) {
            String kind = System.getProperty("stream");
            World.run(
                    2,
                    expires(Duration.ofSeconds(5)),
                    HcclOptions.defaults(),
                    (group, device) -> {
                        Tensor tensor = Tensor.allocate(device, DataType.FLOAT32, 4);
                        Stream reads = Stream.create(device, false);
                        Event behind = Event.create(device, false);
                        Attempts.print(
                                group,
                                () -> {
                                    Stream calls =
                                            kind.equals("default")
                                                    ? Stream.current(device)
                                                    : Stream.create(device, false);
                                    try (Stream.Scope scope = calls.use()) {
                                        fill(tensor);
                                        group.sync().allReduce(tensor, ReduceOp.SUM);
                                        behind.record(calls);
                                    }
                                    reads.waitEvent(behind);
                                    if (kind.equals("closed")) {
                                        calls.close();
                                    }
                                    try (Stream.Scope scope = reads.use()) {
                                        printResult(tensor);
                                    }
                                });
                    });
            Runtime.getRuntime().halt(0);
        }
    }

    /**
     * Reduces in a group, then in one of its own, and reads on a stream that waits for this only.
     */
    static final class ChainedResults {

        private ChainedResults() {}

        @SuppressWarnings("try") // The scope is there to be closed.
        public static void main(String[] arguments) {
            World.run(
                    2,
                    expires(Duration.ofSeconds(5)),
                    HcclOptions.defaults(),
                    (group, device) -> {
                        Tensor tensor = Tensor.allocate(device, DataType.FLOAT32, 4);
                        Stream reads = Stream.create(device, false);
                        ProcessGroup alone = group.split(group.rank(), 0).orElseThrow();
                        Attempts.print(
                                group,
                                () -> {
                                    fill(tensor);
                                    group.allReduce(tensor, ReduceOp.SUM).await();
                                    Work last = alone.allReduce(tensor, ReduceOp.SUM);
                                    try (Stream.Scope scope = reads.use()) {
                                        last.await();
                                        printResult(tensor);
                                    }
                                });
                    });
            Runtime.getRuntime().halt(0);
        }
    }

    /** Reduces on the host, between copies of tensors on devices. */
    static final class StagedResults {

        private StagedResults() {}

        public static void main(String[] arguments) {
            GlooOptions gloo = GlooOptions.onHost("127.0.0.1");
            new StagedBackend("gloo", HcclProvider.DEVICE_TYPE, gloo, rank -> rank)
                    .run(
                            2,
                            expires(Duration.ofSeconds(5)),
                            (group, device) -> {
                                Tensor tensor = Tensor.allocate(device, DataType.FLOAT32, 4);
                                Attempts.print(
                                        group,
                                        () -> {
                                            fill(tensor);
                                            group.allReduce(tensor, ReduceOp.SUM).synchronize();
                                            printResult(tensor);
                                        });
                            });
            Runtime.getRuntime().halt(0);
        }
    }

    /** One rank waits in every way for an operation that the other never joins. */
    static final class Waits {

        private Waits() {}

        @SuppressWarnings("try") // The scope is there to be closed.
        public static void main(String[] arguments) {
            CountDownLatch done = new CountDownLatch(1);
            World.run(
                    2,
                    expires(Duration.ofSeconds(2)),
                    HcclOptions.defaults(),
                    (group, device) -> {
                        group.sync().barrier();
                        if (group.rank() == 1) {
                            done.await();
                            return;
                        }
                        Stream stream = Stream.create(device, false);
                        Event event = Event.create(device, false);
                        try (Tensor tensor = Tensor.allocate(device, DataType.FLOAT32, 4);
                                Stream.Scope scope = stream.use()) {
                            group.allReduce(tensor, ReduceOp.SUM).await();
                            event.record(stream);
                            tell("barrier", () -> group.sync().barrier());
                            tell("event", event::synchronize);
                            tell("copy", () -> tensor.copyTo(new float[4]));
                        }
                        group.close();
                        System.out.println("all closed");
                        // The device is still stuck, which HCCL cannot end, nor ACL the stream.
                        Runtime.getRuntime().halt(0);
                    });
        }
    }

    /** One rank is in its first operation, which the library does not let out, and closes. */
    static final class FirstContact {

        private FirstContact() {}

        public static void main(String[] arguments) {
            CountDownLatch done = new CountDownLatch(1);
            World.run(
                    2,
                    expires(Duration.ofSeconds(2)),
                    HcclOptions.defaults(),
                    (group, device) -> {
                        ProcessGroup other = group.newGroup(List.of(0, 1)).orElseThrow();
                        Tensor mine = Tensor.allocate(device, DataType.FLOAT32, 4);
                        Tensor shared = Tensor.allocate(device, DataType.FLOAT32, 4);
                        if (group.rank() == 0) {
                            Thread inside =
                                    new Thread(() -> group.sync().allReduce(mine, ReduceOp.SUM));
                            inside.setDaemon(true);
                            inside.start();
                        }
                        other.allReduce(shared, ReduceOp.SUM).synchronize();
                        if (group.rank() == 1) {
                            done.await();
                            return;
                        }
                        tell("other", () -> other.allReduce(shared, ReduceOp.SUM).synchronize());
                        group.close();
                        System.out.println("all closed");
                        Runtime.getRuntime().halt(0);
                    });
        }
    }

    private static void tell(String what, Runnable call) {
        try {
            call.run();
            System.out.println(what + " came through");
        } catch (JcclException e) {
            System.out.println(what + ": " + e.getMessage());
        }
    }

    private static String reductions(Map<String, String> environment) throws Exception {
        Map<String, String> all = new HashMap<>(environment);
        all.put("MOCK_DELAY_US", "0");
        String output = Attempts.of(Reductions.class, all);
        assertThat(output).contains("all closed");
        return output;
    }

    @Test
    void withoutFaultsNothingIsReported() throws Exception {
        assertThat(reductions(Map.of())).doesNotContain("Exception", "WARNING");
    }

    @ParameterizedTest
    @CsvSource({
        "2:4, 'libhccl failed with code 4: HcclAllReduce: internal error'",
        "2:5, 'the device or the installed CANN does not support this operation'",
        "2:19, 'look at the network: HCCL_IF_IP'",
        "2:21, 'libhccl lost a peer: HcclAllReduce'",
        "2:9, 'libhccl timed out: HcclAllReduce: timeout'"
    })
    void failedCallPoisonsTheGroupWithItsCause(String fault, String text) throws Exception {
        assertThat(reductions(Map.of("MOCK_HCCL_FAIL_AT", fault)))
                .contains(text)
                .contains("allReduce(float32 x 4, SUM)")
                .contains("GroupAbortedException")
                .contains("the group failed before");
    }

    @Test
    void asynchronousErrorFailsTheGroup() throws Exception {
        assertThat(reductions(Map.of("MOCK_HCCL_ASYNC_FAIL_AT", "2")))
                .contains("libhccl lost a peer: asynchronous error");
    }

    @Test
    void hangIsEndedByTheDeadline() throws Exception {
        assertThat(reductions(Map.of("MOCK_HCCL_HANG_AT", "2")))
                .contains("OperationTimeoutException")
                .contains("not complete after 12 s");
    }

    @Test
    void destructionIsTriedAgainWhileHcclAsksForIt() throws Exception {
        assertThat(reductions(Map.of("MOCK_HCCL_DESTROY_AGAIN", "3")))
                .doesNotContain("Exception", "WARNING");
    }

    /** The library may destroy a communicator and leave what is stuck, wait for it, or refuse. */
    @ParameterizedTest
    @ValueSource(strings = {"leaves", "waits"})
    void waitsEndWithTheGroupThoughTheDeviceIsStuck(String manner) throws Exception {
        assertThat(ChildJvm.outputOf(Waits.class, Map.of("MOCK_HCCL_DESTROY", manner)))
                .contains("all closed")
                .containsPattern("barrier: .*not complete after 2 s")
                .containsPattern("event: .*not complete after 2 s")
                .containsPattern("copy: .*not complete after 2 s");
    }

    /** The first operation makes links, in which the library holds a thread until peers come. */
    @Test
    void closingDoesNotWaitForAThreadThatTheLibraryHolds() throws Exception {
        assertThat(ChildJvm.outputOf(FirstContact.class, Map.of("MOCK_HCCL_CONNECT", "600000")))
                .contains("all closed")
                .containsPattern("other: .*not complete after 2 s");
    }

    @Test
    void collectiveThatFailsOnTheDeviceIsNotTakenForDone() throws Exception {
        assertThat(reductions(Map.of("MOCK_RUNTIME_TASK_FAIL_AT", "4")))
                .contains("libascendcl failed with code 507015");
    }

    @Test
    void collectiveThatFailsOnTheDeviceAndIsNeverCompleteEndsByTheDeadline() throws Exception {
        Map<String, String> environment =
                Map.of("MOCK_RUNTIME_TASK_FAIL_AT", "4", "MOCK_ACL_FAILED_EVENTS", "never");
        assertThat(reductions(environment)).contains("not complete after 12 s");
    }

    /** A stream that waits for an event behind what failed may go on. */
    @ParameterizedTest
    @CsvSource({"error, 4", "error, 7", "complete, 4", "complete, 5", "complete, 6", "complete, 7"})
    void whatAFailedCollectiveHasLeftIsNotTakenForItsResult(String events, String operation)
            throws Exception {
        Map<String, String> environment =
                Map.of("MOCK_RUNTIME_TASK_FAIL_AT", operation, "MOCK_ACL_FAILED_EVENTS", events);
        assertThat(Attempts.of(Results.class, environment))
                .contains("507015")
                .doesNotContain("wrong");
    }

    @ParameterizedTest
    @CsvSource({
        "own, error, 1", "own, complete, 2", "own, complete, 3",
        "closed, error, 1", "closed, complete, 2", "closed, complete, 3",
        "default, error, 4", "default, complete, 2", "default, complete, 5"
    })
    void whatASynchronousCollectiveHasLeftIsNotReadOnAnotherStream(
            String stream, String events, String operation) throws Exception {
        Map<String, String> environment =
                Map.of("MOCK_RUNTIME_TASK_FAIL_AT", operation, "MOCK_ACL_FAILED_EVENTS", events);
        assertThat(Attempts.of(OrderedResults.class, environment, "-Dstream=" + stream))
                .contains("507015")
                .doesNotContain("wrong");
    }

    @ParameterizedTest
    @ValueSource(strings = {"3", "6", "8", "10", "11"})
    void whatAFailedCollectiveHasLeftIsNotReadByWayOfAnotherGroup(String operation)
            throws Exception {
        Map<String, String> environment =
                Map.of(
                        "MOCK_RUNTIME_TASK_FAIL_AT",
                        operation,
                        "MOCK_ACL_FAILED_EVENTS",
                        "complete");
        assertThat(Attempts.of(ChainedResults.class, environment))
                .contains("507015")
                .doesNotContain("wrong");
    }

    @ParameterizedTest
    @CsvSource({"error, 4", "error, 6", "complete, 3", "complete, 4", "complete, 5", "complete, 6"})
    void whatAFailedCopyHasLeftIsNotTakenForAResult(String events, String operation)
            throws Exception {
        Map<String, String> environment =
                Map.of("MOCK_RUNTIME_TASK_FAIL_AT", operation, "MOCK_ACL_FAILED_EVENTS", events);
        assertThat(Attempts.of(StagedResults.class, environment))
                .contains("507015")
                .doesNotContain("wrong");
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 4, 6})
    void failureOfTheRuntimeIsNamedWhereverItHappens(int call) throws Exception {
        assertThat(reductions(Map.of("MOCK_RUNTIME_FAIL_AT", String.valueOf(call))))
                .containsAnyOf(
                        "libascendcl failed with code",
                        "libhccl failed with code",
                        "OperationTimeoutException");
    }

    /** Also if the library returns success and the address 0. */
    @ParameterizedTest
    @ValueSource(strings = {"1", "0"})
    void aFullDeviceIsAnOutOfMemoryError(String answer) throws Exception {
        assertThat(
                        ChildJvm.outputOf(
                                FullDevice.class,
                                Map.of("MOCK_NULL_MEMORY", answer),
                                "-Ddevice=npu"))
                .contains("OutOfMemoryError: aclrtMalloc")
                .contains(FullDevice.STILL_WORKS);
    }
}
