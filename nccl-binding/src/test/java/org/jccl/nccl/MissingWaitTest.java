package org.jccl.nccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.testing.Patience.enough;

import java.time.Duration;
import org.jccl.DataType;
import org.jccl.Stream;
import org.jccl.Tensor;
import org.jccl.internal.device.StreamEngine;
import org.jccl.internal.operation.Operation;
import org.jccl.nccl.Gpu.Gate;
import org.jccl.spi.DeviceRuntime;
import org.jccl.spi.OperationKind;
import org.junit.jupiter.api.Test;

/** Takes the engine's wait for the caller's stream away, and expects that data goes wrong. */
final class MissingWaitTest {

    /** A runtime whose streams never wait for events. */
    private static DeviceRuntime withoutWaits() {
        return BareEngine.cuda((call, next) -> call.equals("waitEvent") ? null : next.call());
    }

    @Test
    void waitMakesTheCollectiveReadWhatTheCallerWrote() {
        assertThat(gatheredWhileTheCallerIsHeld(BareEngine.CUDA)).containsExactly(3, 3);
    }

    @Test
    void withoutTheWaitTheCollectiveReadsTooEarly() {
        assertThat(gatheredWhileTheCallerIsHeld(withoutWaits())).containsExactly(1, 1);
    }

    /** The caller's stream is held, then writes 3 over 1; what the collective saw is returned. */
    private static float[] gatheredWhileTheCallerIsHeld(DeviceRuntime runtime) {
        StreamEngine engine = BareEngine.of(runtime);
        try (Stream caller = Stream.create(World.GPU, false);
                Tensor input = Tensor.allocate(World.GPU, DataType.FLOAT32, 2);
                Tensor output = Tensor.allocate(World.GPU, DataType.FLOAT32, 2)) {
            input.copyFrom(new float[] {1, 1});
            try (Gate gate = Gate.on(caller);
                    Stream.Scope scope = caller.use()) {
                assertThat(scope).isNotNull();
                Gpu.fill(input, 3, caller);
                var work = engine.submit(gather(engine, input, output));
                if (runtime != BareEngine.CUDA) {
                    // Nothing holds it; with the wait this would never return.
                    work.synchronize();
                }
                gate.open();
                work.synchronize();
                caller.synchronize();
            }
            return output.copyTo(new float[2]);
        } finally {
            engine.close(enough(Duration.ofSeconds(5)));
        }
    }

    private static Operation gather(StreamEngine engine, Tensor input, Tensor output) {
        Operation operation = engine.newOperation();
        operation.kind = OperationKind.ALL_GATHER;
        operation.input = input.address();
        operation.output = output.address();
        operation.count = input.count();
        operation.type = input.dataType();
        return operation;
    }
}
