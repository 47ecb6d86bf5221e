package org.jccl.internal.host;

import static org.assertj.core.api.Assertions.assertThat;

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
 * How many methods of ours lie between the user and the communicator, both of these counted: each
 * is one more place to read for who follows a number on its way to the native call.
 */
class StraightWayTest {

    private static final int MOST = 5;
    private static final Duration TIMEOUT = Duration.ofSeconds(20);

    /** Frames seen by each operation that came to the communicator. */
    private final List<List<String>> ways = new ArrayList<>();

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
                                        ways.add(way());
                                        yield HostCommunicator.COMPLETE;
                                    }
                                    default -> null;
                                });
    }

    /** From the communicator, which the proxy stands for, to the last frame before the test. */
    private static List<String> way() {
        List<String> frames =
                StackWalker.getInstance()
                        .walk(
                                all ->
                                        all.map(StackWalker.StackFrame::toStackTraceElement)
                                                .map(StackTraceElement::toString)
                                                .dropWhile(each -> !each.contains("$Proxy"))
                                                .takeWhile(
                                                        each -> !each.contains("StraightWayTest"))
                                                .toList());
        assertThat(frames.get(0)).contains("$Proxy");
        return frames;
    }

    private void assertStraight(int operations) {
        assertThat(ways).hasSize(operations);
        assertThat(ways).allSatisfy(way -> assertThat(way).hasSizeLessThanOrEqualTo(MOST));
    }

    private ProcessGroup hostGroup() {
        BackendProvider provider =
                new BackendProvider() {
                    @Override
                    public String name() {
                        return "straight";
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
        assertStraight(3);
    }

    @Test
    void anAwaitedCallOnTheHost() {
        try (Tensor tensor = Tensor.allocate(Device.CPU, DataType.FLOAT32, 4)) {
            hostGroup();
            // On the waiting thread, unless the worker has been faster, whose way is not the
            // user's.
            while (ways.isEmpty()) {
                group.allReduce(tensor, ReduceOp.SUM).await();
                ways.removeIf(way -> way.stream().anyMatch(each -> each.contains(".work(")));
            }
            group.send(tensor, 1, 0).await();
        }
        assertStraight(2);
    }
}
