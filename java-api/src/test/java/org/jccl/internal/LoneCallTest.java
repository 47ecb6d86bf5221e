package org.jccl.internal;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jccl.DataType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
final class LoneCallTest {

    private final LoneCall call = new LoneCall();

    private static Operation operation(long number) {
        Operation operation = new Operation();
        fill(operation, number);
        return operation;
    }

    private static void fill(Operation operation, long number) {
        operation.clear();
        operation.kind = OperationKind.ALL_REDUCE;
        operation.type = DataType.FLOAT32;
        operation.count = number;
        operation.peer = (int) number;
        operation.sequence = number;
    }

    @Test
    void nothingIsSeenBeforeAndAfterACall() {
        assertThat(call.look(1)).isNull();
        call.begin(operation(7));
        assertThat(call.isUnderWay()).isTrue();
        assertThat(call.look(2).describe()).contains("float32 x 7");
        call.end();
        assertThat(call.isUnderWay()).isFalse();
        assertThat(call.look(3)).isNull();
    }

    @Test
    void theClockOfACallStartsWhenItIsSeenFirst() {
        Operation operation = operation(1);
        call.begin(operation);
        assertThat(call.look(100).startNanos).isEqualTo(100);
        assertThat(call.look(200).startNanos).isEqualTo(100);
        call.end();
        call.begin(operation);
        assertThat(call.look(300).startNanos).isEqualTo(300);
    }

    @Test
    void whatIsSeenIsOfOneCall() throws Exception {
        AtomicBoolean over = new AtomicBoolean();
        Thread caller =
                new Thread(
                        () -> {
                            Operation operation = new Operation();
                            for (long i = 0; !over.get(); i++) {
                                fill(operation, i & 0xffff);
                                call.begin(operation);
                                call.end();
                            }
                        });
        caller.setDaemon(true);
        caller.start();
        int seen = 0;
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
        while (seen < 20_000 && System.nanoTime() < end) {
            Operation copy = call.look(1);
            if (copy != null) {
                seen++;
                assertThat(copy.kind).isEqualTo(OperationKind.ALL_REDUCE);
                assertThat(copy.count).isEqualTo(copy.sequence);
                assertThat((long) copy.peer).isEqualTo(copy.sequence);
            }
        }
        over.set(true);
        caller.join();
        assertThat(seen).isPositive();
    }
}
