package org.jccl.hccl;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.jccl.FailureContext;
import org.jccl.OperationTimeoutException;
import org.jccl.spi.CommunicatorConfig;
import org.jccl.spi.Durations;

/**
 * The communicators that this process is forming. HCCL forms one at a time on each device. A call
 * of HCCL that forms a communicator returns when all ranks have made theirs. So only one thread may
 * be inside HCCL, possibly for a long time. Thread-safe.
 */
final class Forming {

    /** The members that are inside HCCL, also after their caller has given up. */
    private final List<Member> inside = new ArrayList<>();

    /** This process's part in forming one communicator. */
    final class Member {

        private final String group;
        private final int rank;
        private final int size;
        private final int device;
        private final long begun = System.nanoTime();
        private final Duration limit;
        private long entered;

        private Member(CommunicatorConfig config) {
            this.group = config.groupName();
            this.rank = config.rank();
            this.size = config.size();
            this.device = config.device().index();
            this.limit = config.joinTimeout();
        }

        /** The time that is left, at least one nanosecond. */
        Duration left() {
            return Duration.ofNanos(Math.max(1, nanosLeft()));
        }

        private long nanosLeft() {
            return limit.toNanos() - (System.nanoTime() - begun);
        }

        /**
         * Waits until this member may enter HCCL; the caller must call {@link #leave}. Interrupting
         * the thread does not end the wait, and leaves the flag set.
         *
         * @throws OperationTimeoutException if the time is over first; names the member inside
         */
        void enter() {
            boolean interrupted = false;
            synchronized (Forming.this) {
                try {
                    for (Optional<Member> other = blocking();
                            other.isPresent();
                            other = blocking()) {
                        if (nanosLeft() <= 0) {
                            throw timeout(other.get());
                        }
                        try {
                            TimeUnit.NANOSECONDS.timedWait(Forming.this, nanosLeft());
                        } catch (InterruptedException e) {
                            interrupted = true;
                        }
                    }
                    entered = System.nanoTime();
                    inside.add(this);
                } finally {
                    if (interrupted) {
                        Thread.currentThread().interrupt();
                    }
                }
            }
        }

        private Optional<Member> blocking() {
            return inside.stream().filter(other -> other.device == device).findFirst();
        }

        private OperationTimeoutException timeout(Member other) {
            return OperationTimeoutException.ofCall(
                    FailureContext.NONE,
                    "waited "
                            + Durations.text(limit)
                            + " to form "
                            + this
                            + ", because "
                            + other
                            + " has been inside HCCL for "
                            + Durations.text(
                                    Duration.ofMillis(
                                            (System.nanoTime() - other.entered) / 1_000_000))
                            + (other.nanosLeft() <= 0
                                    ? " and past its own deadline (HCCL returns after"
                                            + " HCCL_CONNECT_TIMEOUT)"
                                    : "")
                            + "; HCCL forms one communicator at a time on a device, so all ranks must form their groups in the same order",
                    null);
        }

        /** Admits the next member; does nothing if this one is not inside. */
        void leave() {
            synchronized (Forming.this) {
                inside.remove(this);
                Forming.this.notifyAll();
            }
        }

        @Override
        public String toString() {
            return "rank " + rank + " of " + size + " of group " + group + " on npu:" + device;
        }
    }

    /**
     * Begins to form a communicator.
     *
     * @param config of the communicator
     * @return this process's part in it
     */
    Member begin(CommunicatorConfig config) {
        return new Member(config);
    }
}
