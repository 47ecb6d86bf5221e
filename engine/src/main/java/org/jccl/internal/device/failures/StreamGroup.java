package org.jccl.internal.device.failures;

import org.jccl.JcclException;
import org.jccl.Stream;

/** A group with operations on streams of a device, as {@link GroupOrder} calls it. */
public interface StreamGroup {

    /**
     * Fails the group if the device reports a failure on a stream where the group has operations.
     */
    void checkStreams();

    /** Fails the group. */
    void fail(JcclException cause);

    /** Called before a stream is closed, while operations of the group may run on it. */
    void beforeClose(Stream stream);
}
