package org.jccl.internal.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.testing.Patience.enough;
import static org.jccl.testing.Patience.expires;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.jccl.DataType;
import org.jccl.FailureContext;
import org.jccl.ReduceOp;
import org.jccl.internal.diagnosis.DesyncDetector;
import org.jccl.internal.operation.Operation;
import org.jccl.internal.operation.RunningOperations;
import org.jccl.spi.OperationKind;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class UnorderedThreadsTest {

    private static final int RANK = 0;
    private static final FailureContext GROUP = FailureContext.ofGroup("unordered", RANK);

    private final Logger log = Logger.getLogger(UnorderedThreads.class.getName());
    private final BlockingQueue<String> warnings = new LinkedBlockingQueue<>();
    private final RunningOperations running = new RunningOperations();
    private final UnorderedThreads unordered = new UnorderedThreads(GROUP, running);

    /** Other tests may warn in other groups at the same time. */
    private final Handler handler =
            new Handler() {
                @Override
                public void publish(LogRecord warning) {
                    if (warning.getMessage().contains("group 'unordered'")) {
                        warnings.add(warning.getMessage());
                    }
                }

                @Override
                public void flush() {}

                @Override
                public void close() {}
            };

    @BeforeEach
    void listen() {
        log.addHandler(handler);
    }

    @AfterEach
    void stopListening() {
        log.removeHandler(handler);
    }

    private static <T extends Operation> T fill(
            T operation, OperationKind kind, long count, int root) {
        operation.kind = kind;
        operation.type = kind == OperationKind.BARRIER ? null : DataType.FLOAT32;
        operation.count = count;
        operation.op = kind == OperationKind.ALL_REDUCE ? ReduceOp.SUM : null;
        operation.peer = root;
        return operation;
    }

    /** Whether there is a warning about two calls. */
    private boolean warns(OperationKind kind, long other, long count, int root) {
        Operation inside = fill(new Operation(), kind, other, root);
        running.begin(inside);
        unordered.look(fill(new Operation(), kind, count, root));
        running.end(inside, null);
        List<String> found = new ArrayList<>();
        warnings.drainTo(found);
        return !found.isEmpty();
    }

    @Test
    void anEqualCallIsReportedOnce() {
        assertThat(warns(OperationKind.ALL_REDUCE, 4, 4, -1)).isTrue();
        assertThat(warns(OperationKind.ALL_REDUCE, 4, 4, -1)).isFalse();
    }

    /** The libraries' bindings notice calls that differ. */
    @Test
    void aCallThatDiffersIsNotReported() {
        assertThat(warns(OperationKind.ALL_REDUCE, 4, 5, -1)).isFalse();
    }

    @Test
    void aCallThatGetsNoNumbersIsNotReported() {
        assertThat(warns(OperationKind.BARRIER, 0, 0, -1)).isFalse();
        assertThat(warns(OperationKind.BROADCAST, 4, 4, RANK)).isFalse();
        assertThat(warns(OperationKind.SCATTER, 4, 4, RANK)).isFalse();
        assertThat(warns(OperationKind.BROADCAST, 4, 4, RANK + 1)).isTrue();
    }

    @Test
    void anEngineLooksWhenItIsBusy() throws Exception {
        ScriptedCommunicator library = new ScriptedCommunicator();
        HostEngine engine =
                new HostEngine(
                        library.communicator(),
                        GROUP,
                        enough(Duration.ofSeconds(60)),
                        new DesyncDetector(Optional.empty(), RANK, 2),
                        TensorLocation.HOST);
        library.block();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            Thread thread =
                    new Thread(
                            () ->
                                    engine.run(
                                            fill(engine.borrow(), OperationKind.ALL_REDUCE, 4, -1)),
                            "session-" + i);
            thread.start();
            threads.add(thread);
            library.awaitCalls(1); // of the first one, which is now inside
        }
        String warning = warnings.poll(20, TimeUnit.SECONDS);
        library.unblock();
        for (Thread each : threads) {
            each.join();
        }
        engine.close(expires(Duration.ofMillis(50)));
        assertThat(warning)
                .contains("allReduce(float32 x 4, SUM)")
                .containsPattern("thread 'session-[12]' issues it while another thread is inside")
                .contains("mixed without an error", "give each thread a group");
        assertThat(warnings).isEmpty();
    }
}
