package org.jccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.testing.Patience.enough;

import java.lang.ref.Reference;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.jccl.conformance.inmemory.InMemoryProvider;
import org.jccl.store.HashStore;
import org.jccl.testing.ChildJvm;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a program loses without closing it is logged, with the place if the program asks for it. */
@Timeout(120)
class LeaksTest {

    /** Loses a tensor, a group and a closed group, and waits until two of them are logged. */
    static final class Losing {

        private static final Duration TIMEOUT = enough(Duration.ofSeconds(60));

        private Losing() {}

        public static void main(String[] arguments) throws InterruptedException {
            CountDownLatch reported = new CountDownLatch(2);
            Logger logger = Logger.getLogger(""); // its own handler, which prints, comes first
            logger.addHandler(new Counting(reported));
            loseTensor();
            loseGroup().close();
            loseGroup();
            while (!reported.await(50, TimeUnit.MILLISECONDS)) {
                System.gc();
            }
            Reference.reachabilityFence(logger);
            Runtime.getRuntime().halt(0);
        }

        private static void loseTensor() {
            Tensor.allocate(Device.CPU, DataType.FLOAT32, 3);
        }

        private static ProcessGroup loseGroup() {
            return TestGroups.world(
                    new InMemoryProvider(), HashStore.create(TIMEOUT), 0, 1, TIMEOUT);
        }
    }

    private static final class Counting extends Handler {

        private final CountDownLatch reported;

        Counting(CountDownLatch reported) {
            this.reported = reported;
        }

        @Override
        public void publish(LogRecord record) {
            if (record.getMessage().contains("was never closed")) {
                reported.countDown();
            }
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
    }

    @Test
    void aLostTensorAndALostGroupAreLogged() throws Exception {
        assertThat(ChildJvm.outputOf(Losing.class, Map.of()))
                .containsOnlyOnce(
                        "float32 x 3 on cpu was never closed: its memory is leaked (1 so far)")
                .containsOnlyOnce("was never closed: its connections stay open (1 so far)")
                .contains("-Dorg.jccl.leaks=trace")
                .doesNotContain("loseTensor");
    }

    @Test
    void theirPlacesAreShownOnRequest() throws Exception {
        assertThat(ChildJvm.outputOf(Losing.class, Map.of(), "-Dorg.jccl.leaks=trace"))
                .contains("was created here")
                .contains("loseTensor")
                .contains("loseGroup")
                .doesNotContain("Start Java with");
    }
}
