package org.jccl.nccl;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jccl.DataType;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.internal.device.StreamEngine;
import org.jccl.internal.operation.Operation;
import org.jccl.spi.OperationKind;
import org.jccl.spi.StreamCommunicator;
import org.junit.jupiter.api.Test;

/**
 * Bounds the number of stack frames from the engine to the communicator, on an engine of streams.
 */
class CallDepthTest {

    /**
     * Six with the group's own method and {@link Operation#run}, which hands over to the engine.
     */
    private static final int MAX_FRAMES = 4;

    private final List<List<String>> calls = new ArrayList<>();

    private StreamCommunicator watched(StreamCommunicator communicator) {
        return (StreamCommunicator)
                Proxy.newProxyInstance(
                        StreamCommunicator.class.getClassLoader(),
                        new Class<?>[] {StreamCommunicator.class},
                        (proxy, method, arguments) -> {
                            if (method.getName().equals("allReduce")) {
                                calls.add(frames());
                            }
                            return method.invoke(communicator, arguments);
                        });
    }

    private static List<String> frames() {
        return StackWalker.getInstance()
                .walk(
                        all ->
                                all.map(StackWalker.StackFrame::toStackTraceElement)
                                        .map(StackTraceElement::toString)
                                        .dropWhile(each -> !each.contains("$Proxy"))
                                        .takeWhile(each -> !each.contains("CallDepthTest"))
                                        .toList());
    }

    @Test
    void fromTheEngineToTheCommunicator() {
        StreamEngine engine = BareEngine.of(BareEngine.CUDA, this::watched);
        try (Tensor tensor = Tensor.allocate(World.GPU, DataType.FLOAT32, 4)) {
            engine.run(fill(engine.borrow(), tensor));
            engine.submit(fill(engine.newOperation(), tensor)).synchronize();
        }
        engine.close(Duration.ZERO);
        assertThat(calls).hasSize(2);
        assertThat(calls)
                .allSatisfy(
                        frames -> {
                            assertThat(frames.get(0)).contains("$Proxy");
                            assertThat(frames).hasSizeLessThanOrEqualTo(MAX_FRAMES);
                        });
    }

    private static Operation fill(Operation operation, Tensor tensor) {
        operation.kind = OperationKind.ALL_REDUCE;
        operation.input = tensor.address();
        operation.output = tensor.address();
        operation.type = tensor.dataType();
        operation.count = tensor.count();
        operation.op = ReduceOp.SUM;
        return operation;
    }
}
