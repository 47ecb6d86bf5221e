package org.jccl.soak;

import org.jccl.UsageException;

/**
 * What operations of a backend can be asked for.
 *
 * @param tags messages have tags, and a receive may take from any source
 * @param anyOrder messages do not hold up each other
 * @param refuses some reductions of some types are not there
 */
record Traits(boolean tags, boolean anyOrder, boolean refuses) {

    /** Passes the exception on unless it says that the backend has no such reduction. */
    void requireRefusal(UsageException refusal) {
        if (!refuses || !refusal.reason().startsWith("this backend has no")) {
            throw refusal;
        }
    }
}
