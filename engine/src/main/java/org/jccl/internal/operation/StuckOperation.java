package org.jccl.internal.operation;

import org.jccl.FailureContext;
import org.jccl.spi.Communicator;
import org.jccl.spi.OperationKind;

/**
 * A stuck operation.
 *
 * @param collective whether it is one, and no message
 * @param key names the operation in the store, the same on every rank that takes part; empty when
 *     that is not known
 * @param title the key in words
 * @param text what must be equal on all of them
 * @param context what this rank does
 */
public record StuckOperation(
        boolean collective, String key, String title, String text, FailureContext context) {

    /** Returns the key of a collective. */
    public static String collectiveKey(long sequence) {
        return "operation/" + sequence;
    }

    /** Describes a stuck operation. */
    public static StuckOperation of(Operation operation, FailureContext context) {
        if (operation.kind.isCollective()) {
            return new StuckOperation(
                    true,
                    collectiveKey(operation.sequence),
                    "as operation " + operation.sequence,
                    context.operation(),
                    context);
        }
        if (operation.peer == Communicator.ANY_SOURCE
                || operation.sequence == MessageCounters.NONE) {
            return new StuckOperation(false, "", "", "", context);
        }
        boolean sends = operation.kind == OperationKind.SEND;
        int from = sends ? context.rank() : operation.peer;
        int to = sends ? operation.peer : context.rank();
        return new StuckOperation(
                false,
                "message/" + from + "-" + to + "-" + operation.tag + "/" + operation.sequence,
                "in message %s from rank %s to rank %s with tag %s"
                        .formatted(operation.sequence, from, to, operation.tag),
                operation.type + " x " + operation.count,
                context);
    }
}
