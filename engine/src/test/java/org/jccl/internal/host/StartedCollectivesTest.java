package org.jccl.internal.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.enough;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import org.jccl.DataType;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.ReduceOp;
import org.jccl.Work;
import org.jccl.internal.diagnosis.DesyncDetector;
import org.jccl.internal.operation.Operation;
import org.jccl.spi.OperationKind;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A host engine whose user issues more than the library should have at once. */
class StartedCollectivesTest {

    private static final int ISSUED = 3 * HostEngine.MAX_STARTED;

    private final ScriptedCommunicator library = ScriptedCommunicator.starting();
    private final HostEngine engine =
            new HostEngine(
                    library.communicator(),
                    FailureContext.ofGroup("g", 0),
                    enough(Duration.ofSeconds(60)),
                    new DesyncDetector(Optional.empty(), 0, 2),
                    TensorLocation.HOST);
    private final List<Work> works = new ArrayList<>();

    @BeforeEach
    void issueMany() {
        for (int i = 0; i < ISSUED; i++) {
            Operation operation = engine.newOperation();
            operation.kind = OperationKind.ALL_REDUCE;
            operation.type = DataType.FLOAT32;
            operation.op = ReduceOp.SUM;
            operation.count = 1;
            works.add(engine.submit(operation));
        }
    }

    @AfterEach
    void abortWhatIsLeft() {
        engine.fail(new GroupAbortedException(FailureContext.NONE, "test is over"));
    }

    private long begun() {
        return library.calls().stream().filter("allReduce"::equals).count();
    }

    @Test
    void theLibraryNeverHasTooMany() throws InterruptedException {
        // The last call is that of the thread that waits for the first to end.
        library.awaitCalls(HostEngine.MAX_STARTED + 1);
        assertThat(begun()).isEqualTo(HostEngine.MAX_STARTED);
        assertThat(works).noneMatch(Work::isCompleted);
        library.complete(1);
        works.get(0).await();
        library.awaitCalls(HostEngine.MAX_STARTED + 2);
        assertThat(begun()).isEqualTo(HostEngine.MAX_STARTED + 1);
    }

    @Test
    void theOthersFollowInWhateverOrderTheyAreAwaited() {
        for (int i = 1; i <= ISSUED; i++) {
            library.complete(i);
        }
        Collections.shuffle(works);
        works.forEach(Work::await);
        assertThat(begun()).isEqualTo(ISSUED);
    }

    @Test
    void theOthersFailWithTheGroup() throws InterruptedException {
        library.awaitCalls(HostEngine.MAX_STARTED + 1);
        engine.fail(new GroupAbortedException(FailureContext.NONE, "lost"));
        for (Work work : works) {
            assertThatThrownBy(work::await).isInstanceOf(GroupAbortedException.class);
        }
        assertThat(begun()).isEqualTo(HostEngine.MAX_STARTED);
    }
}
