package org.jccl.internal;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
final class TurnTest {

    private final RunningOperations running = new RunningOperations();
    private final Turn turn = new Turn(running);
    private final Operation operation = new Operation();

    /** The first thread that borrows may work alone; each test has a thread of its own. */
    private void comeFirst() {
        running.giveBack(running.borrow());
    }

    private static <T> T elsewhere(java.util.concurrent.Callable<T> action) throws Exception {
        CompletableFuture<T> result = new CompletableFuture<>();
        Thread thread =
                new Thread(
                        () -> {
                            try {
                                result.complete(action.call());
                            } catch (Throwable e) {
                                result.completeExceptionally(e);
                            }
                        });
        thread.setDaemon(true);
        thread.start();
        return result.get(20, TimeUnit.SECONDS);
    }

    @Test
    void callsAloneAreNumbered() {
        comeFirst();
        for (long i = 0; i < 3; i++) {
            assertThat(turn.takeAlone(operation)).isTrue();
            assertThat(operation.sequence).isEqualTo(i);
            turn.leaveAlone();
        }
        assertThat(turn.number()).isEqualTo(3);
    }

    /** As many threads may want the turn at once as a machine has. */
    @Test
    void reasonsAreNotTakenForCollectives() {
        comeFirst();
        int reasons = 70_000;
        synchronized (running) {
            for (int i = 0; i < reasons; i++) {
                turn.block();
            }
            assertThat(turn.takeAlone(operation)).isFalse();
            assertThat(turn.number()).isZero();
            for (int i = 0; i < reasons; i++) {
                turn.unblock();
            }
        }
        assertThat(turn.takeAlone(operation)).isTrue();
        assertThat(operation.sequence).isEqualTo(1);
    }

    @Test
    void onlyTheFirstThreadWorksAlone() throws Exception {
        comeFirst();
        assertThat(elsewhere(() -> turn.takeAlone(operation))).isFalse();
    }

    @Test
    void nobodyElseHasTheTurnWhileOneWorksAlone() throws Exception {
        comeFirst();
        assertThat(turn.takeAlone(operation)).isTrue();
        assertThat(elsewhere(turn::tryTake)).isFalse();
        CompletableFuture<Void> taken =
                CompletableFuture.runAsync(
                        () -> {
                            turn.take();
                            turn.leave();
                        });
        Thread.sleep(20);
        assertThat(taken).isNotDone();
        turn.leaveAlone();
        taken.get(20, TimeUnit.SECONDS);
    }

    @Test
    void theThreadThatWorksAloneMayTakeTheTurnInside() {
        comeFirst();
        assertThat(turn.takeAlone(operation)).isTrue();
        assertThat(turn.tryTake()).isTrue();
        turn.leave();
        turn.leaveAlone();
        assertThat(turn.takeAlone(operation)).isTrue();
    }

    @Test
    void nobodyWorksAloneWhileAnotherHasTheTurnOrItIsBlocked() throws Exception {
        comeFirst();
        assertThat(elsewhere(turn::tryTake)).isTrue();
        assertThat(turn.takeAlone(operation)).isFalse();
        assertThat(running.loneCollective().isUnderWay()).isFalse();
    }

    @Test
    void aBlockedTurnIsTakenByTheMonitorOnly() {
        comeFirst();
        turn.block();
        assertThat(turn.takeAlone(operation)).isFalse();
        assertThat(turn.tryTake()).isTrue();
        turn.leave();
        turn.unblock();
        assertThat(turn.takeAlone(operation)).isTrue();
    }

    @Test
    void oneThreadAtATimeHasItAndEachNumberIsGivenOnce() throws Exception {
        comeFirst();
        int rounds = 20_000;
        List<Long> numbers = new ArrayList<>();
        Runnable byMonitor =
                () -> {
                    for (int i = 0; i < rounds; i++) {
                        turn.take();
                        numbers.add(turn.number());
                        turn.leave();
                    }
                };
        CompletableFuture<Void> first = CompletableFuture.runAsync(byMonitor);
        CompletableFuture<Void> second = CompletableFuture.runAsync(byMonitor);
        int alone = 0;
        while (alone < rounds) {
            if (turn.takeAlone(operation)) {
                // The list has no lock of its own.
                numbers.add(operation.sequence);
                alone++;
                turn.leaveAlone();
            }
        }
        first.get(40, TimeUnit.SECONDS);
        second.get(40, TimeUnit.SECONDS);
        List<Long> expected = LongStream.range(0, 3L * rounds).boxed().toList();
        assertThat(numbers.equals(expected)).as("numbers are given in order, once").isTrue();
    }
}
