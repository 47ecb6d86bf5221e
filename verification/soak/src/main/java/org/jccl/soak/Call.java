package org.jccl.soak;

import java.util.List;
import java.util.function.Supplier;
import org.jccl.Work;

/**
 * An operation of one rank with its tensors, and how it is issued in either way.
 *
 * @param what for messages
 * @param blocks which say what must be in them when it is done
 * @param asynchronous issues it
 * @param synchronous runs it, in the caller's order
 */
record Call(
        String what, List<Block> blocks, Supplier<List<Work>> asynchronous, Runnable synchronous) {

    static Call of(
            String what, List<Block> blocks, Supplier<Work> asynchronous, Runnable synchronous) {
        return new Call(what, blocks, () -> List.of(asynchronous.get()), synchronous);
    }
}
