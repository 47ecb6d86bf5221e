package org.jccl.internal.observe;

import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.testing.Patience.enough;
import static org.jccl.testing.Patience.expires;

import java.io.IOException;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.GroupInfo;
import org.jccl.ReduceOp;
import org.jccl.internal.operation.Observers;
import org.jccl.internal.operation.Operation;
import org.jccl.internal.operation.RunningOperations;
import org.jccl.spi.OperationKind;
import org.jccl.testing.ChildJvm;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What is kept, and what is written when. */
class FlightRecorderTest {

    private static final GroupInfo GROUP =
            new GroupInfo("world/2,3", 1, 2, List.of(2, 3), "test", Device.CPU);

    private final RunningOperations running = new RunningOperations();

    @TempDir private Path folder;

    private FlightRecorder recorder(FlightRecorder.State first) {
        FlightRecorder recorder = new FlightRecorder(folder.resolve("new"), GROUP, first, 30_000);
        running.observe(Observers.of(GROUP, List.of(recorder)));
        return recorder;
    }

    private static Operation allReduce(long sequence) {
        Operation operation = new Operation();
        operation.clear();
        operation.kind = OperationKind.ALL_REDUCE;
        operation.type = DataType.FLOAT32;
        operation.op = ReduceOp.SUM;
        operation.count = 4;
        operation.sequence = sequence;
        return operation;
    }

    private String written() throws IOException {
        return Files.readString(folder.resolve("new/rank3.world_2,3.test.json"));
    }

    @Test
    void aClosedGroupHasCompletedOperations() throws IOException {
        FlightRecorder recorder = recorder(FlightRecorder.State.STARTED);
        Operation operation = allReduce(0);
        running.begin(operation);
        running.end(operation, null);
        recorder.groupClosed();
        assertThat(written())
                .contains("\"profiling_name\":\"test:all_reduce\"")
                .contains("\"operation\":\"allReduce(float32 x 4, SUM)\"")
                .contains("\"bytes\":16", "\"collective_seq_id\":0", "\"is_p2p\":false")
                .contains("\"state\":\"completed\"", "\"retired\":true")
                .contains("\"time_discovered_started_ns\":", "\"duration_ms\":")
                .contains("\"last_completed_collective\":0")
                .doesNotContain("failure");
    }

    @Test
    void aFailedGroupKeepsWhatWasStuck() throws IOException {
        FlightRecorder recorder = recorder(FlightRecorder.State.SCHEDULED);
        Operation done = allReduce(0);
        Operation stuck = allReduce(1);
        running.begin(done);
        running.end(done, null);
        running.begin(stuck);
        recorder.groupFailed(
                new GroupAbortedException(FailureContext.ofGroup("world/2,3", 1), "say \"why\""));
        running.end(stuck, null);
        recorder.groupClosed();
        assertThat(written())
                .contains("\"state\":\"completed\"", "\"state\":\"scheduled\"")
                .contains("\"last_enqueued_collective\":1", "\"last_completed_collective\":0")
                .contains("say \\\"why\\\"")
                .doesNotContain("time_discovered_started_ns");
    }

    @Test
    void onlyTheLastOperationsAreKept() throws IOException {
        FlightRecorder recorder = recorder(FlightRecorder.State.STARTED);
        for (int i = 0; i <= FlightRecorder.CAPACITY; i++) {
            running.begin(allReduce(i));
        }
        recorder.groupClosed();
        assertThat(written())
                .doesNotContain("\"record_id\":0,")
                .contains("\"record_id\":1,", "\"record_id\":" + FlightRecorder.CAPACITY + ",");
    }

    private void wait(Operation operation) {
        running.endWait(operation, running.beginWait(operation));
    }

    @Test
    void aWaitThatEndsByTheFailureIsKept() throws IOException {
        FlightRecorder recorder = recorder(FlightRecorder.State.STARTED);
        wait(allReduce(4));
        Operation stuck = allReduce(-1);
        long began = running.beginWait(stuck);
        stuck.sequence = 5;
        running.begin(stuck);
        recorder.groupFailed(
                new GroupAbortedException(FailureContext.ofGroup("world/2,3", 1), "lost"));
        running.endWait(stuck, began);
        recorder.groupClosed();
        String waits = written().substring(written().indexOf("\"waits\"")).replace("\n", "");
        assertThat(waits.split("thread_name")).hasSize(3);
        assertThat(waits).contains("\"collective_seq_id\":4,", "\"collective_seq_id\":5,");
    }

    @Test
    void tellsWhenThreadsOfTheProgramWereBlocked() throws IOException {
        FlightRecorder recorder = recorder(FlightRecorder.State.STARTED);
        for (int i = 0; i <= FlightRecorder.CAPACITY; i++) {
            wait(allReduce(i));
        }
        Operation message = allReduce(7);
        message.kind = OperationKind.SEND;
        wait(message);
        recorder.groupClosed();
        wait(allReduce(9999));
        String waits = written().substring(written().indexOf("\"waits\"")).replace("\n", "");
        assertThat(waits)
                .contains("\"thread_name\":\"" + Thread.currentThread().getName() + "\"")
                .contains("\"collective_seq_id\":-1,\"p2p_seq_id\":7,\"time_began_ns\":")
                .doesNotContain("\"collective_seq_id\":1,", "\"collective_seq_id\":9999")
                .contains("\"collective_seq_id\":2,\"p2p_seq_id\":-1,");
    }

    @Test
    void timesCountFrom1970() throws IOException {
        long before = System.currentTimeMillis();
        FlightRecorder recorder = recorder(FlightRecorder.State.STARTED);
        running.begin(allReduce(0));
        recorder.groupClosed();
        long after = System.currentTimeMillis();
        Matcher time = Pattern.compile("\"time_created_ns\":(\\d+)").matcher(written());
        assertThat(time.find()).isTrue();
        assertThat(Long.parseLong(time.group(1)) / 1_000_000).isBetween(before - 1, after + 1);
    }

    @Test
    void aFolderThatCanNotBeWrittenDoesNoHarm() throws IOException {
        Files.writeString(folder.resolve("new"), "a file, no folder");
        recorder(FlightRecorder.State.STARTED).groupClosed();
        assertThat(folder.resolve("new")).hasContent("a file, no folder");
    }

    private void withAFolderThatHangs(Duration patience, Consumer<FlightRecorder> test)
            throws Exception {
        CountDownLatch back = new CountDownLatch(1);
        InvocationHandler hangs =
                (proxy, method, arguments) -> {
                    if (method.getName().equals("toString")) {
                        return "/gone";
                    }
                    back.await();
                    throw new IllegalStateException("test is over");
                };
        Class<?>[] path = {Path.class};
        Path gone = (Path) Proxy.newProxyInstance(Path.class.getClassLoader(), path, hangs);
        FlightRecorder recorder =
                new FlightRecorder(gone, GROUP, FlightRecorder.State.STARTED, 30_000, patience);
        running.observe(Observers.of(GROUP, List.of(recorder)));
        try {
            CompletableFuture.runAsync(() -> test.accept(recorder)).get(20, TimeUnit.SECONDS);
        } finally {
            back.countDown();
        }
    }

    private static GroupAbortedException failure() {
        return new GroupAbortedException(FailureContext.ofGroup("world/2,3", 1), "why");
    }

    /** As on a file server that is gone. What is stuck is aborted next. */
    @Test
    void aFolderThatHangsDoesNotHoldUpAFailure() throws Exception {
        withAFolderThatHangs(
                enough(Duration.ofHours(1)),
                recorder -> {
                    recorder.groupFailed(failure());
                    running.begin(allReduce(0));
                });
    }

    @Test
    void aFolderThatHangsDelaysTheEndOfTheGroupForALimitedTime() throws Exception {
        withAFolderThatHangs(
                expires(Duration.ofMillis(100)),
                recorder -> {
                    recorder.groupFailed(failure());
                    recorder.groupClosed();
                });
    }

    /** Ends while the file of a failed group is written. */
    static final class Failing {

        private Failing() {}

        public static void main(String[] arguments) {
            RunningOperations running = new RunningOperations();
            Path folder = Path.of(System.getProperty("folder"));
            FlightRecorder recorder =
                    new FlightRecorder(folder, GROUP, FlightRecorder.State.STARTED, 30_000);
            running.observe(Observers.of(GROUP, List.of(recorder)));
            running.begin(allReduce(3));
            recorder.groupFailed(failure());
            if (Boolean.getBoolean("exit")) {
                System.exit(0);
            }
        }
    }

    /**
     * A rank that is ended with an operation in flight, as a launcher does when another is lost.
     */
    static final class Ended {
        private Ended() {}

        public static void main(String[] arguments) {
            Path folder = Path.of(System.getProperty("folder"));
            FlightRecorder recorder =
                    new FlightRecorder(folder, GROUP, FlightRecorder.State.STARTED, 1000);
            RunningOperations running = new RunningOperations();
            running.observe(Observers.of(GROUP, List.of(recorder)));
            running.begin(allReduce(7));
            System.exit(3);
        }
    }

    @Test
    void aProcessThatEndsBeforeItsGroupWritesWhatItWasDoing() throws Exception {
        ChildJvm.outputOf(3, Ended.class, Map.of(), "-Dfolder=" + folder.resolve("new"));
        assertThat(written()).contains("\"collective_seq_id\":7", "\"started\"").endsWith("}");
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aProcessThatEndsWritesTheFileFirst(boolean exit) throws Exception {
        ChildJvm.outputOf(
                Failing.class, Map.of(), "-Dexit=" + exit, "-Dfolder=" + folder.resolve("new"));
        assertThat(written()).contains("\"collective_seq_id\":3", "why").endsWith("}");
    }
}
