package org.jccl.internal.membership;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jccl.JcclException;
import org.jccl.spi.CleanUp;

/** A thread that looks whether an attempt has ended while its group is being formed. */
final class AttemptWatch implements AutoCloseable {

    private static final long POLL_MILLIS = 100;

    private final CountDownLatch closed = new CountDownLatch(1);
    private volatile boolean ended;

    private AttemptWatch() {}

    /**
     * Starts to look.
     *
     * @param onEnd called once if the attempt ends before this object is closed
     */
    static AttemptWatch start(MembershipKeys keys, int attempt, Runnable onEnd) {
        AttemptWatch watch = new AttemptWatch();
        Thread thread = new Thread(() -> watch.run(keys, attempt, onEnd), "jccl-membership");
        thread.setDaemon(true);
        thread.start();
        return watch;
    }

    private void run(MembershipKeys keys, int attempt, Runnable onEnd) {
        try {
            while (!closed.await(POLL_MILLIS, TimeUnit.MILLISECONDS)) {
                if (OpenAttempt.parse(keys.read(MembershipKeys.OPEN)).number() != attempt) {
                    ended = true;
                    onEnd.run();
                    return;
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (JcclException e) {
            // The group is formed without a watch; the store's failure will show elsewhere.
            CleanUp.log("watching attempt " + attempt, e);
        }
    }

    /** Returns whether the attempt ended before this object was closed. */
    boolean hasEnded() {
        return ended;
    }

    @Override
    public void close() {
        closed.countDown();
    }
}
