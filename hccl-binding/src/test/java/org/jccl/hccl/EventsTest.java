package org.jccl.hccl;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.jccl.Event;
import org.jccl.Stream;
import org.junit.jupiter.api.Test;

/** Events that several threads ask at the same time. */
final class EventsTest {

    @Test
    void anEventThatIsCompleteIsSoForAllThreadsThatAskAtOnce() throws Exception {
        Stream stream = Stream.current(World.NPU);
        try (Event event = Event.create(World.NPU, false)) {
            event.record(stream);
            event.synchronize();
            List<CompletableFuture<Integer>> threads =
                    IntStream.range(0, 3)
                            .mapToObj(
                                    thread ->
                                            CompletableFuture.supplyAsync(
                                                    () -> denied(event),
                                                    task -> new Thread(task).start()))
                            .toList();
            for (CompletableFuture<Integer> thread : threads) {
                assertThat(thread.get(60, TimeUnit.SECONDS)).as("times not complete").isZero();
            }
        }
    }

    private static int denied(Event event) {
        // A new thread has no device.
        Stream.current(World.NPU).query();
        return (int) IntStream.range(0, 20_000).filter(round -> !event.query()).count();
    }
}
