package org.jccl.sccl;

/** An event: a position in a queue. Recording the event again moves it. */
final class TpuEvent {

    final boolean timing;

    /** Null until it is recorded. */
    volatile TpuQueue queue;

    /** The position in the queue. */
    volatile long position;

    /** When the queue passed it, in the queue's own form. Only events for timing have it. */
    volatile long stamp;

    TpuEvent(boolean timing) {
        this.timing = timing;
    }
}
