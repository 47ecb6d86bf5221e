package org.jccl.internal.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.testing.Patience.enough;

import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.jccl.Availability;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.TestGroups;
import org.jccl.spi.BackendProvider;
import org.jccl.spi.Capabilities;
import org.jccl.spi.Communicator;
import org.jccl.spi.CommunicatorConfig;
import org.jccl.spi.HostCommunicator;
import org.jccl.store.HashStore;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * Bounds the number of stack frames from the user's call to the communicator, both included. Each
 * frame is one more place to read for a person who follows a value to the native call.
 */
class CallDepthTest {

    private static final int MAX_FRAMES = 5;
    private static final Duration TIMEOUT = enough(Duration.ofSeconds(20));

    /** The frames of each operation that reached the communicator. */
    private final List<List<String>> stacks = new ArrayList<>();

    private ProcessGroup group;

    @AfterEach
    void close() {
        if (group != null) {
            group.close();
        }
    }

    private HostCommunicator communicator() {
        return (HostCommunicator)
                Proxy.newProxyInstance(
                        HostCommunicator.class.getClassLoader(),
                        new Class<?>[] {HostCommunicator.class},
                        (proxy, method, arguments) ->
                                switch (method.getName()) {
                                    case "capabilities" -> Capabilities.ALL;
                                    case "reduces" -> true;
                                    case "abandonsOperations" -> false;
                                    case "allReduce", "send", "recv", "broadcast", "allGather" -> {
                                        stacks.add(stack());
                                        yield HostCommunicator.COMPLETE;
                                    }
                                    default -> null;
                                });
    }

    /** The frames from the communicator, a proxy, up to the test, which is excluded. */
    private static List<String> stack() {
        List<String> frames =
                StackWalker.getInstance()
                        .walk(
                                all ->
                                        all.map(StackWalker.StackFrame::toStackTraceElement)
                                                .map(StackTraceElement::toString)
                                                .dropWhile(each -> !each.contains("$Proxy"))
                                                .takeWhile(each -> !each.contains("CallDepthTest"))
                                                .toList());
        assertThat(frames.get(0)).contains("$Proxy");
        return frames;
    }

    private void assertShallow(int operations) {
        assertThat(stacks).hasSize(operations);
        assertThat(stacks)
                .allSatisfy(stack -> assertThat(stack).hasSizeLessThanOrEqualTo(MAX_FRAMES));
    }

    private ProcessGroup hostGroup() {
        BackendProvider provider =
                new BackendProvider() {
                    @Override
                    public String name() {
                        return "shallow";
                    }

                    @Override
                    public Set<String> deviceTypes() {
                        return Set.of("cpu");
                    }

                    @Override
                    public Availability availability() {
                        return new Availability.Available("1", "here");
                    }

                    @Override
                    public Communicator create(CommunicatorConfig config) {
                        return communicator();
                    }
                };
        group = TestGroups.world(provider, HashStore.create(TIMEOUT), 0, 2, TIMEOUT);
        return group;
    }

    @Test
    void aSynchronousCallOnTheHost() {
        try (Tensor tensor = Tensor.allocate(Device.CPU, DataType.FLOAT32, 4)) {
            hostGroup().sync().allReduce(tensor, ReduceOp.SUM);
            group.sync().broadcast(tensor, 0);
            group.sync().send(tensor, 1, 0);
        }
        assertShallow(3);
    }

    @Test
    void anAwaitedCallOnTheHost() {
        try (Tensor tensor = Tensor.allocate(Device.CPU, DataType.FLOAT32, 4)) {
            hostGroup();
            // The waiting thread makes the call, unless the worker was faster.
            while (stacks.isEmpty()) {
                group.allReduce(tensor, ReduceOp.SUM).await();
                stacks.removeIf(stack -> stack.stream().anyMatch(each -> each.contains(".work(")));
            }
            group.send(tensor, 1, 0).await();
        }
        assertShallow(2);
    }
}
