package org.jccl.testing;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.IntConsumer;
import java.util.function.IntUnaryOperator;
import org.jccl.Device;
import org.jccl.JcclException;
import org.jccl.Stream;
import org.jccl.spi.BoundedCall;

/**
 * Devices for tests that run at the same time. Worlds that share a device wait there for what the
 * other is stuck in, so every test has devices of its own. They are free again when no rank that
 * had one lives and nothing runs on any of their streams: that the default stream is idle says
 * nothing of the others.
 */
public final class OwnDevices {

    private static final int MAX_RANKS = 5;

    /** Those before are for tests that name their devices, which may run beside. */
    private static final int FIRST = 20;

    private static final int MAX_GROUPS = 100;
    private static final Duration IDLE_PATIENCE = Duration.ofMillis(200);

    /** Longer where the suite's deadlines are, since other tests then keep their devices longer. */
    private static final Duration FREE_PATIENCE =
            Duration.ofSeconds(50)
                    .multipliedBy(Integer.getInteger("org.jccl.conformance.slowness", 1));

    private static final long PAUSE_MILLIS = 20;

    /** By type of device. */
    private static final Map<String, OwnDevices> ALL = new HashMap<>();

    /** As many devices as a test needs. */
    private static final class Slot {

        private final String type;
        private final int first;
        private final List<Thread> ranks = new ArrayList<>();
        private final List<BoundedCall> drains = new ArrayList<>();
        private boolean taken;

        Slot(String type, int first) {
            this.type = type;
            this.first = first;
        }

        void take() {
            taken = true;
            ranks.clear();
            drains.clear();
        }

        boolean isFree(IntConsumer synchronizeDevice) {
            if (!taken) {
                return true;
            }
            if (ranks.isEmpty() || ranks.stream().anyMatch(Thread::isAlive)) {
                return false;
            }
            // A thread for each, since it may wait for what is stuck there.
            for (int i = drains.size(); i < MAX_RANKS; i++) {
                int device = first + i;
                drains.add(
                        BoundedCall.start(
                                "drain-" + device,
                                () -> {
                                    synchronizeDevice.accept(device);
                                    hearFailures(Stream.current(new Device(type, device)));
                                }));
            }
            return drains.stream().allMatch(Slot::isDrained);
        }

        /** The stream tells once of each group that failed; the next test is not meant. */
        private static void hearFailures(Stream stream) {
            for (int groups = 0; groups < MAX_GROUPS; groups++) {
                try {
                    stream.synchronize();
                    return;
                } catch (JcclException e) {
                    // What the test before has left.
                }
            }
            throw new IllegalStateException("the stream tells of failures without end");
        }

        private static boolean isDrained(BoundedCall drain) {
            try {
                return drain.await(IDLE_PATIENCE);
            } catch (RuntimeException e) {
                // A device that is stuck for good is for nobody else.
                return false;
            }
        }
    }

    private final List<Slot> slots = new ArrayList<>();
    private int next;

    private OwnDevices(String type, int devices) {
        for (int first = FIRST; first + MAX_RANKS <= devices; first += MAX_RANKS) {
            slots.add(new Slot(type, first));
        }
    }

    /**
     * The devices of one test, on which nothing runs.
     *
     * @param deviceType of the devices, of which {@code MOCK_DEVICES} says how many there are
     * @param synchronizeDevice returns when no stream of a device has anything left to run, also
     *     where something failed there; called in a thread of its own
     * @return for each rank its device, which the calling thread has until it ends; chosen when the
     *     first one joins
     */
    public static IntUnaryOperator of(String deviceType, IntConsumer synchronizeDevice) {
        OwnDevices all;
        synchronized (ALL) {
            all =
                    ALL.computeIfAbsent(
                            deviceType,
                            type ->
                                    new OwnDevices(
                                            type, Integer.parseInt(System.getenv("MOCK_DEVICES"))));
        }
        Slot[] chosen = {null};
        return rank -> all.choose(chosen, synchronizeDevice) + rank;
    }

    private synchronized int choose(Slot[] chosen, IntConsumer synchronizeDevice) {
        long deadline = System.nanoTime() + FREE_PATIENCE.toNanos();
        while (chosen[0] == null) {
            for (int i = 0; i < slots.size() && chosen[0] == null; i++) {
                Slot slot = slots.get(next);
                next = (next + 1) % slots.size();
                if (slot.isFree(synchronizeDevice)) {
                    slot.take();
                    chosen[0] = slot;
                }
            }
            if (chosen[0] == null) {
                pauseUntil(deadline);
            }
        }
        chosen[0].ranks.add(Thread.currentThread());
        return chosen[0].first;
    }

    /** Lets other ranks join meanwhile. */
    private void pauseUntil(long deadline) {
        if (System.nanoTime() - deadline > 0) {
            throw new AssertionError(
                    "none of " + slots.size() + " sets of devices became free in time");
        }
        try {
            TimeUnit.MILLISECONDS.timedWait(this, PAUSE_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted while all devices were in use", e);
        }
    }
}
