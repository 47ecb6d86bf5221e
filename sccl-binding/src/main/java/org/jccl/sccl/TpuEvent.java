package org.jccl.sccl;

/** An event: a place in a queue, moved by recording it again. */
final class TpuEvent {

    final boolean timing;

    /** Null until it is recorded. */
    volatile TpuQueue queue;

    /** Place in the queue. */
    volatile long mark;

    /** When the queue passed it, in the queue's own way; of events made for timing only. */
    volatile long stamp;

    TpuEvent(boolean timing) {
        this.timing = timing;
    }
}
