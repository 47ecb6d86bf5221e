package org.jccl.internal.observe;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.TestGroups;
import org.jccl.internal.host.ScriptedCommunicator;
import org.jccl.internal.host.ScriptedProvider;
import org.jccl.spi.BackendProvider;
import org.jccl.spi.Communicator;
import org.jccl.store.HashStore;
import org.jccl.testing.ChildJvm;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What a recording of JFR has, and that nothing breaks where this Java has no JFR. */
@Timeout(120)
class JfrEventsTest {

    private static final Duration TIMEOUT = Duration.ofSeconds(30);

    @TempDir private Path folder;

    private final ScriptedCommunicator library = new ScriptedCommunicator();

    private static BackendProvider provider(Communicator communicator) {
        return new ScriptedProvider(
                config -> {
                    return communicator;
                });
    }

    private static ProcessGroup world(ScriptedCommunicator library) {
        return TestGroups.world(
                provider(library.communicator()), HashStore.create(TIMEOUT), 1, 2, TIMEOUT);
    }

    private List<RecordedEvent> dump(Recording recording) throws IOException {
        recording.stop();
        Path file = folder.resolve("recording.jfr");
        recording.dump(file);
        return RecordingFile.readAllEvents(file).stream()
                .filter(event -> event.getEventType().getName().startsWith("org.jccl."))
                .toList();
    }

    private static Optional<RecordedEvent> only(List<RecordedEvent> events, String type) {
        List<RecordedEvent> found =
                events.stream()
                        .filter(event -> event.getEventType().getName().equals("org.jccl." + type))
                        .toList();
        assertThat(found).as(type).hasSizeLessThan(2);
        return found.stream().findFirst();
    }

    @Test
    void aRecordingHasEachKindOfEvent() throws Exception {
        try (Recording recording = new Recording()) {
            recording.start();
            try (ProcessGroup world = world(library);
                    Tensor tensor = Tensor.allocate(Device.CPU, DataType.FLOAT32, 4)) {
                library.completesAtOnce = true;
                world.sync().send(tensor, 0, 5);
                library.block();
                Thread unblocker =
                        new Thread(
                                () -> {
                                    sleep(1300);
                                    library.unblock();
                                });
                unblocker.start();
                world.sync().broadcast(tensor, 1);
                unblocker.join();
                library.failure = new GroupAbortedException(FailureContext.NONE, "no cable");
                assertThatThrownBy(() -> world.sync().barrier()).hasMessageContaining("no cable");
            }
            List<RecordedEvent> events = dump(recording);
            RecordedEvent made = only(events, "GroupCreation").orElseThrow();
            assertThat(made.getString("group")).isEqualTo("world");
            assertThat(made.getInt("rank")).isEqualTo(1);
            assertThat(made.getInt("size")).isEqualTo(2);
            assertThat(made.getInt("worldRank")).isEqualTo(1);
            assertThat(made.getString("backend")).isEqualTo("scripted");
            assertThat(made.getString("device")).startsWith("cpu");
            assertThat(made.getDuration("took")).isPositive();

            RecordedEvent message = only(events, "Message").orElseThrow();
            assertThat(message.getString("operation")).isEqualTo("send");
            assertThat(message.getInt("peer")).isZero();
            assertThat(message.getLong("bytes")).isEqualTo(16);
            assertThat(message.getString("failure")).isNull();
            assertThat(message.getStackTrace()).isNull();
            assertThat(message.getThread("issuer").getJavaName())
                    .isEqualTo(Thread.currentThread().getName());
            assertThat(message.getDuration("deviceTime"))
                    .isEqualTo(Duration.ofSeconds(Long.MIN_VALUE));

            RecordedEvent broadcast = collective(events, 0);
            assertThat(broadcast.getString("operation")).isEqualTo("broadcast");
            assertThat(broadcast.getInt("root")).isEqualTo(1);
            assertThat(broadcast.getString("dataType")).isEqualTo("float32");
            assertThat(broadcast.getDuration()).isGreaterThan(Duration.ofMillis(1100));

            RecordedEvent stall = only(events, "Stall").orElseThrow();
            assertThat(stall.getString("operation")).isEqualTo("broadcast(float32 x 4, root 1)");
            assertThat(stall.getLong("sequence")).isZero();
            assertThat(stall.getDuration("soFar")).isGreaterThan(Duration.ofSeconds(1));

            RecordedEvent barrier = collective(events, 1);
            assertThat(barrier.getString("failure")).contains("no cable", "rank 1");
            assertThat(barrier.getLong("bytes")).isZero();
            assertThat(barrier.getString("dataType")).isNull();

            RecordedEvent failure = only(events, "GroupFailure").orElseThrow();
            assertThat(failure.getString("kind")).endsWith("GroupAbortedException");
            assertThat(failure.getString("reason")).contains("no cable");
            assertThat(failure.getStackTrace().getFrames()).isNotEmpty();
            assertThat(events).hasSize(6);
        }
    }

    private static RecordedEvent collective(List<RecordedEvent> events, long sequence) {
        return events.stream()
                .filter(event -> event.getEventType().getName().equals("org.jccl.Collective"))
                .filter(event -> event.getLong("sequence") == sequence)
                .findFirst()
                .orElseThrow();
    }

    private static void sleep(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void whatIsQuickerThanTheThresholdOrSwitchedOffIsLeftOut() throws Exception {
        try (Recording recording = new Recording()) {
            recording.enable("org.jccl.Collective").withThreshold(Duration.ofMillis(500));
            recording.disable("org.jccl.Message");
            recording.disable("org.jccl.GroupCreation");
            try (ProcessGroup world = world(library);
                    Tensor tensor = Tensor.allocate(Device.CPU, DataType.FLOAT32, 4)) {
                // The first one is slower than any other.
                world.sync().barrier();
                recording.start();
                library.completesAtOnce = true;
                world.sync().send(tensor, 0, 5);
                world.sync().barrier();
                library.inside = () -> sleep(600);
                world.sync().allReduce(tensor, ReduceOp.SUM);
            }
            assertThat(dump(recording))
                    .singleElement()
                    .satisfies(
                            event ->
                                    assertThat(event.getString("operation"))
                                            .isEqualTo("allReduce"));
        }
    }

    @Test
    void aRecordingThatStartsAndEndsInTheMiddleHasWhatBeganInside() throws Exception {
        try (ProcessGroup world = world(library)) {
            world.sync().barrier();
            try (Recording recording = new Recording()) {
                recording.start();
                world.sync().barrier();
                assertThat(dump(recording))
                        .singleElement()
                        .satisfies(event -> assertThat(event.getLong("sequence")).isEqualTo(1));
            }
            world.sync().barrier();
        }
    }

    /** Runs collectives; for a Java that has only what this module requires. */
    static final class WithoutJfr {

        public static void main(String[] arguments) {
            try (ProcessGroup world = world(new ScriptedCommunicator())) {
                world.sync().barrier();
                world.barrier().await();
            }
            System.out.println(
                    "jfr: " + ModuleLayer.boot().findModule("jdk.jfr").isPresent() + ", done");
        }
    }

    @Test
    void aJavaWithoutJfrRunsCollectives() throws Exception {
        String output =
                ChildJvm.outputOf(
                        WithoutJfr.class,
                        java.util.Map.of(),
                        "--limit-modules",
                        "java.base,java.logging,jdk.unsupported");
        assertThat(output).contains("jfr: false, done");
    }
}
