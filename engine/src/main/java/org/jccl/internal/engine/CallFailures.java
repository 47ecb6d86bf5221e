package org.jccl.internal.engine;

import java.util.List;
import java.util.function.LongFunction;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.JcclException;
import org.jccl.JcclException.Category;
import org.jccl.MismatchException;
import org.jccl.PeerLostException;
import org.jccl.internal.diagnosis.DesyncDetector;
import org.jccl.internal.operation.Operation;
import org.jccl.internal.operation.StuckOperation;

/** Finds the cause of what a communicator threw when it was called with an operation. */
final class CallFailures {

    private final DesyncDetector detector;
    private final GroupFailure failure;
    private final LongFunction<List<String>> issuedBefore;

    CallFailures(
            DesyncDetector detector,
            GroupFailure failure,
            LongFunction<List<String>> issuedBefore) {
        this.detector = detector;
        this.failure = failure;
        this.issuedBefore = issuedBefore;
    }

    JcclException causeOf(Throwable thrown, Operation operation, FailureContext where) {
        if (thrown instanceof PeerLostException lost && !failure.isSet()) {
            return operation.kind.isCollective()
                    ? detector.explainSoon(lost)
                    : detector.explainSoon(lost, operation.peer);
        }
        if (thrown instanceof MismatchException seen
                && !failure.isSet()
                && operation.kind.isCollective()) {
            return detector.explainSoon(seen, StuckOperation.of(operation, where), issuedBefore);
        }
        if (thrown instanceof JcclException known && known.category() == Category.FATAL_GROUP) {
            return known;
        }
        // Even a failure that the library calls harmless puts this rank out of step with others.
        return new GroupAbortedException(
                FailureContext.NONE,
                thrown instanceof JcclException known
                        ? "the library refused it: " + known.reason()
                        : "unexpected failure: " + thrown,
                thrown);
    }
}
