package org.jccl.internal.host;

import java.util.List;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.MismatchException;
import org.jccl.PeerLostException;
import org.jccl.internal.diagnosis.DesyncDetector;
import org.jccl.internal.engine.GroupFailure;
import org.jccl.internal.operation.Operation;
import org.jccl.internal.operation.RunningOperations;
import org.jccl.spi.BoundedCall;
import org.jccl.spi.HostCommunicator;
import org.jccl.spi.OperationKind;

/** Completes the works that the library has started and answered with a request. */
final class RequestCompletion {

    private final HostEngine engine;
    private final HostCommunicator communicator;
    private final Staging staging;
    private final RunningOperations running;
    private final DesyncDetector detector;
    private final GroupFailure failure;
    private final FailureContext context;

    /** Whether a thread of its own asks for the cause of a lost peer or a mismatch. */
    private volatile boolean explaining;

    RequestCompletion(
            HostEngine engine,
            HostCommunicator communicator,
            Staging staging,
            RunningOperations running,
            DesyncDetector detector) {
        this.engine = engine;
        this.communicator = communicator;
        this.staging = staging;
        this.running = running;
        this.detector = detector;
        this.failure = engine.failure;
        this.context = engine.context;
    }

    /**
     * Waits for the request of a claimed work.
     *
     * @param mayAsk whether the calling thread may wait for the store to learn why a peer is lost
     */
    void await(HostWork work, boolean mayAsk) {
        int source = -1;
        JcclException cause = null;
        try {
            source =
                    staging.stages(work)
                            ? staging.await(work.request())
                            : communicator.await(work.request());
            awaitCollectivesBefore(work);
        } catch (Throwable e) {
            boolean askable = e instanceof PeerLostException || e instanceof MismatchException;
            boolean asks = askable && !failure.isSet() && detector.asks();
            if (asks && !mayAsk && explainOnOwnThread(e, work)) {
                return;
            }
            cause = engine.failed(e, work);
        }
        engine.finish(work, source, cause);
    }

    /** Returns false if no thread can be started: then the work ends with what is known. */
    private boolean explainOnOwnThread(Throwable thrown, HostWork work) {
        explaining = true;
        try {
            BoundedCall.start("jccl-explain-" + context.group(), () -> explain(thrown, work));
            return true;
        } catch (OutOfMemoryError e) {
            explaining = false;
            return false;
        }
    }

    private void explain(Throwable thrown, HostWork work) {
        try {
            engine.finish(work, -1, engine.failed(thrown, work));
        } finally {
            explaining = false;
        }
    }

    /** Completes a started work if its request is ready, without blocking. */
    void completeIfReady(HostWork work) {
        // While one work finds out why its peer is lost, the others wait for its answer.
        if (!explaining && work.claim()) {
            boolean ready;
            try {
                // After a failure too: a library may be long in letting go of it.
                ready = isReady(work);
            } catch (Throwable e) {
                ready = true;
            }
            if (ready) {
                await(work, false);
            } else {
                work.started(work.request());
            }
        }
    }

    private boolean isReady(HostWork work) {
        boolean ended =
                staging.stages(work)
                        ? staging.test(work.request())
                        : communicator.test(work.request());
        return ended
                && (work.kind != OperationKind.BARRIER
                        || collectivesBefore(work).stream().allMatch(HostWork::isCompleted));
    }

    /** A library may complete a barrier before a collective that was started earlier, or failed. */
    void awaitCollectivesBefore(Operation operation) {
        if (operation.kind == OperationKind.BARRIER) {
            for (HostWork before : collectivesBefore(operation)) {
                engine.await(before);
            }
            if (failure.isSet()) {
                throw failure.forLaterCall(engine.contextOf(operation));
            }
        }
    }

    private List<HostWork> collectivesBefore(Operation barrier) {
        return running.startedBefore(barrier, HostWork.class);
    }
}
