package org.jccl.internal.engine;

import java.time.Duration;
import org.jccl.JcclException;
import org.jccl.OperationTimeoutException;
import org.jccl.PeerLostException;
import org.jccl.internal.diagnosis.DesyncDetector;
import org.jccl.internal.diagnosis.Diagnosis;
import org.jccl.internal.operation.RunningOperations;
import org.jccl.spi.Durations;

/**
 * What the watchdog does for one group at each tick: asks the library for errors, completes works
 * that nobody awaits, enforces deadlines, and has stuck operations compared between ranks. Used by
 * the watchdog's thread only.
 */
final class GroupMonitor {

    private final Engine engine;
    private final DesyncDetector detector;

    /** Since when an operation is over its deadline. */
    private boolean expired;

    private long expiredNanos;

    /** Whether, and since when, the cause of a lost peer is searched for. */
    private boolean explaining;

    private long explainingNanos;

    GroupMonitor(Engine engine) {
        this.engine = engine;
        this.detector = engine.detector;
    }

    void tick(long now) {
        engine.prepareWatching();
        if (!engine.askLibrary(noticed -> failWithCause(noticed, now))) {
            return;
        }
        engine.completeUnawaited();
        RunningOperations.Overdue overdue =
                engine.running.overdue(
                        now, engine.timeout.toNanos(), engine.closed, engine.context);
        if (!engine.failure.isSet()) {
            if (overdue.expired() != null) {
                expire(overdue, now);
            } else {
                detector.examineLater(
                        overdue.stuck(),
                        engine::issuedBefore,
                        cause -> publishAndFail(cause.at(engine.context)));
            }
        }
        detector.publishLater();
    }

    /** Fails the group as soon as the positions of the other ranks are known, or nobody answers. */
    private void expire(RunningOperations.Overdue overdue, long now) {
        if (!expired) {
            expired = true;
            expiredNanos = now;
            detector.describeLater(positions -> publishAndFail(failure(overdue, positions)));
        } else if (now - expiredNanos > Diagnosis.ANSWER_TIMEOUT.toNanos()) {
            engine.fail(failure(overdue, detector.silence()));
        }
    }

    private static OperationTimeoutException failure(
            RunningOperations.Overdue overdue, String positions) {
        String timeout = Durations.text(Duration.ofNanos(overdue.timeoutNanos()));
        return new OperationTimeoutException(
                overdue.expired(), "not complete after " + timeout + "; " + positions);
    }

    /** Fails the group; for a lost peer as soon as its cause is known, or nobody answers. */
    private void failWithCause(JcclException noticed, long now) {
        boolean explains = noticed instanceof PeerLostException && detector.asks();
        if (!explains || explaining && now - explainingNanos > Diagnosis.CAUSE_TIMEOUT.toNanos()) {
            engine.fail(noticed.at(engine.context));
        } else if (!explaining) {
            explaining = true;
            explainingNanos = now;
            detector.explainLater(
                    (PeerLostException) noticed, cause -> engine.fail(cause.at(engine.context)));
        }
    }

    /** Reports to the other ranks before they notice that the connection is gone. */
    private void publishAndFail(JcclException cause) {
        if (!engine.failure.isSet()) {
            detector.noteFailure(cause);
            detector.publish();
        }
        engine.fail(cause);
    }
}
