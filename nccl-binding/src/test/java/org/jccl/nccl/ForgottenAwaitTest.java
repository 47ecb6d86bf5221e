package org.jccl.nccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.jccl.DataType;
import org.jccl.Event;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Stream;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.jccl.Work;
import org.jccl.nccl.Gpu.Gate;
import org.junit.jupiter.api.Test;

/** Memory of an operation that the current stream does not wait for, on one device. */
final class ForgottenAwaitTest {

    private static Tensor floats(int count) {
        return Tensor.allocate(World.GPU, DataType.FLOAT32, count);
    }

    private static void assertRefused(Tensor tensor) {
        assertThatThrownBy(() -> tensor.copyTo(new float[1]))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("allGather")
                .hasMessageContaining("has not completed")
                .hasMessageContaining("await()");
    }

    @Test
    void anotherStreamDoesNotWaitForAWork() {
        try (ProcessGroup group = World.alone();
                Stream compute = Stream.create(World.GPU, false);
                Stream other = Stream.create(World.GPU, false);
                Tensor input = floats(3);
                Tensor output = floats(3);
                Tensor copy = floats(3);
                Event event = Event.create(World.GPU, false)) {
            try (Gate gate = Gate.on(compute)) {
                Gpu.fill(input, 4, compute);
                Work work;
                try (Stream.Scope scope = compute.use()) {
                    assertThat(scope).isNotNull();
                    work = group.allGatherSingle(output, input);
                    assertRefused(output);
                    assertThatThrownBy(() -> input.copyFrom(new float[3]))
                            .isInstanceOf(UsageException.class)
                            .hasMessageContaining("write to");
                    copy.copyFrom(input);
                    work.await();
                    event.record(compute);
                    copy.copyFrom(output);
                }
                try (Stream.Scope scope = other.use()) {
                    assertThat(scope).isNotNull();
                    assertThatThrownBy(() -> copy.copyFrom(output))
                            .as("only the other stream waits")
                            .isInstanceOf(UsageException.class);
                    other.waitEvent(event);
                    copy.copyFrom(output);
                }
                gate.open();
            }
            other.synchronize();
            assertThat(copy.copyTo(new float[3])).containsExactly(4, 4, 4);
        }
    }

    @Test
    void aSynchronousCallIsReadyOnItsStreamOnly() {
        try (ProcessGroup group = World.alone();
                Stream compute = Stream.create(World.GPU, false);
                Stream other = Stream.create(World.GPU, false);
                Tensor input = floats(3);
                Tensor output = floats(3);
                Event event = Event.create(World.GPU, false)) {
            try (Gate gate = Gate.on(compute)) {
                Gpu.fill(input, 4, compute);
                try (Stream.Scope scope = compute.use()) {
                    assertThat(scope).isNotNull();
                    group.sync().allGatherSingle(output, input);
                    event.record(compute);
                }
                assertRefused(output);
                try (Stream.Scope scope = other.use()) {
                    assertThat(scope).isNotNull();
                    assertRefused(output);
                    other.waitEvent(event);
                    gate.open();
                    assertThat(output.copyTo(new float[3])).containsExactly(4, 4, 4);
                }
            }
            assertThat(output.copyTo(new float[3])).containsExactly(4, 4, 4);
        }
    }

    @Test
    void aWorkThatIsCompleteIsInNobodysWay() {
        try (ProcessGroup group = World.alone();
                Tensor sum = floats(3)) {
            sum.copyFrom(new float[] {1, 2, 3});
            Work one = group.allReduce(sum.slice(0, 1), ReduceOp.SUM);
            Work two = group.allReduce(sum.slice(1, 2), ReduceOp.SUM);
            List.of(one, two).forEach(Work::synchronize);
            assertThat(sum.copyTo(new float[3])).containsExactly(1, 2, 3);
        }
    }

    /** Its waits are not seen here, so it may wait for what the work's event has marked. */
    @Test
    void aStreamOfAnotherLibraryMayWaitUnseen() {
        try (ProcessGroup group = World.alone();
                Stream compute = Stream.create(World.GPU, false);
                Stream foreign =
                        Stream.ofHandle(World.GPU, Gpu.createForeignStream(), "its owner");
                Tensor input = floats(3);
                Tensor output = floats(3);
                Tensor copy = floats(3);
                Gate gate = Gate.on(compute)) {
            Work work;
            try (Stream.Scope scope = compute.use()) {
                assertThat(scope).isNotNull();
                work = group.allGatherSingle(output, input);
            }
            try (Stream.Scope scope = foreign.use()) {
                assertThat(scope).isNotNull();
                assertThatThrownBy(() -> copy.copyFrom(output))
                        .as("nothing waits for it")
                        .isInstanceOf(UsageException.class);
            }
            try (Stream.Scope scope = compute.use()) {
                assertThat(scope).isNotNull();
                work.await();
            }
            try (Stream.Scope scope = foreign.use()) {
                assertThat(scope).isNotNull();
                copy.copyFrom(output);
            }
            gate.open();
            foreign.synchronize();
        }
    }

    /** The stream waits for a group whose operation came after that of the other group. */
    @Test
    void aWaitForALaterGroupIsAWaitForTheEarlierOne() {
        try (ProcessGroup group = World.alone();
                ProcessGroup later = World.alone();
                Stream compute = Stream.create(World.GPU, false);
                Stream other = Stream.create(World.GPU, false);
                Tensor input = floats(3);
                Tensor output = floats(3);
                Tensor result = floats(3);
                Tensor copy = floats(3);
                Gate gate = Gate.on(compute)) {
            Work last;
            try (Stream.Scope scope = compute.use()) {
                assertThat(scope).isNotNull();
                group.allGatherSingle(output, input).await();
                last = later.allGatherSingle(result, output);
            }
            try (Stream.Scope scope = other.use()) {
                assertThat(scope).isNotNull();
                assertThatThrownBy(() -> copy.copyFrom(output)).isInstanceOf(UsageException.class);
                last.await();
                copy.copyFrom(output);
                output.copyFrom(copy);
            }
            gate.open();
        }
    }
}
