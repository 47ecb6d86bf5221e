package org.jccl.gloo;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.jccl.Interop;
import org.jccl.ProcessGroup;
import org.jccl.ProcessGroupBuilder;
import org.jccl.UsageException;
import org.jccl.conformance.ConformanceBackend;
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
}
