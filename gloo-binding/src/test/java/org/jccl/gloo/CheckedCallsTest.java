package org.jccl.gloo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.assertj.core.api.InstanceOfAssertFactories.STRING;
import static org.jccl.testing.Patience.enough;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jccl.Interop;
import org.jccl.JcclException;
import org.jccl.MismatchException;
import org.jccl.ProcessGroup;
import org.jccl.ProcessGroupBuilder;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.jccl.conformance.ConformanceBackend;
import org.jccl.conformance.Ranks;
import org.junit.jupiter.api.Test;

/** On the engine of libraries that work on the host. */
final class CheckedCallsTest extends org.jccl.conformance.CheckedCallsTest {

    @Override
    protected ConformanceBackend backend() {
        return (store, rank, size, timeout) ->
                ProcessGroup.builder()
                        .backend("gloo")
                        .store(store)
                        .rank(rank)
                        .worldSize(size)
                        .joinTimeout(Ranks.TIMEOUT)
                        .timeout(timeout)
                        .checkCalls(true)
                        .build();
    }

    @Test
    void ranksOfPyTorchDoNotTakePart() {
        ProcessGroupBuilder world =
                ProcessGroup.builder()
                        .backend("gloo")
                        .interop(Interop.TORCH)
                        .initMethod("tcp://127.0.0.1:1?rank=0&world_size=1")
                        .checkCalls(true);
        assertThatThrownBy(world::build)
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("calls cannot be checked")
                .hasMessageContaining("TORCH");
    }

    /**
     * Equal calls of two threads may come in another order on another rank, and be mixed. Whichever
     * of the two comes later is rejected.
     */
    @Test
    void aSecondThreadIsNamed() {
        backend()
                .ranks()
                .run(
                        2,
                        rank -> {
                            if (rank.group().rank() == 1) {
                                rank.store().await(List.of("done"), enough(Duration.ofSeconds(30)));
                                return;
                            }
                            Callable<Throwable> call =
                                    () ->
                                            catchThrowable(
                                                    () ->
                                                            rank.group()
                                                                    .sync()
                                                                    .allReduce(
                                                                            Tensor.copyOf(
                                                                                    new float[1]),
                                                                            ReduceOp.SUM));
                            ExecutorService threads = Executors.newFixedThreadPool(2);
                            List<Throwable> thrown = new ArrayList<>();
                            for (Future<Throwable> each : threads.invokeAll(List.of(call, call))) {
                                thrown.add(each.get());
                            }
                            threads.shutdown();
                            rank.store().set("done", new byte[1]);
                            assertThat(thrown)
                                    .allMatch(each -> each instanceof JcclException)
                                    .filteredOn(each -> each instanceof MismatchException)
                                    .singleElement()
                                    .extracting(Throwable::getMessage, STRING)
                                    .containsPattern("thread '.*-thread-.' issues")
                                    .contains("allReduce(float32 x 1, SUM) while thread '")
                                    .contains("of the same group");
                        });
    }
}
