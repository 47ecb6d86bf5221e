package org.jccl.internal.staged;

import org.jccl.internal.device.EventPool;
import org.jccl.internal.operation.Operation;
import org.jccl.spi.CleanUp;
import org.jccl.spi.DeviceRuntime;
import org.jccl.spi.DeviceRuntime.Copy;
import org.jccl.spi.HostCommunicator;
import org.jccl.spi.HostCommunicator.Mode;
import org.jccl.spi.OperationKind;

/**
 * Runs collectives window by window: while one is in the library, the next one comes down from the
 * device and the one before goes up. Used under the engine's queue lock.
 */
final class Pipeline {

    /** One that comes down, one in the library, one that goes up. */
    private static final int DEPTH = 3;

    private final HostCommunicator communicator;
    private final PinnedMemory memory;
    private final EventPool events;
    private final PollingWait polling;
    private final int rank;
    private final int size;
    private final CopyStream down;
    private final CopyStream up;

    Pipeline(
            StagedLocation location,
            HostCommunicator communicator,
            PinnedMemory memory,
            EventPool events,
            PollingWait polling) {
        this.communicator = communicator;
        this.memory = memory;
        this.events = events;
        this.polling = polling;
        DeviceRuntime runtime = location.runtime();
        this.rank = location.group().rank();
        this.size = location.size();
        this.down = new CopyStream(runtime, Copy.DEVICE_TO_HOST);
        this.up = new CopyStream(runtime, Copy.HOST_TO_DEVICE);
    }

    /** The device must be current, and the caller's stream where it was. */
    void run(Operation operation) {
        new Run(operation).run();
    }

    void close() {
        down.close();
        up.close();
    }

    /** Host memory of one window, and the events behind its copies, 0 when there are none. */
    private static final class Slot {
        private PinnedMemory.Piece input;
        private PinnedMemory.Piece output;
        private long comesDown;
        private long goesUp;
    }

    private final class Run {

        private final Operation operation;
        private final Windows windows;
        private final Parts read;
        private final Parts written;
        private final int elementSize;

        /** Whether the library reads and writes one location. */
        private final boolean inPlace;

        private final Slot[] slots = new Slot[DEPTH];
        private final Operation window = new Operation();

        Run(Operation operation) {
            this.operation = operation;
            this.windows = Windows.of(operation, size);
            this.read = Parts.read(operation, rank, size);
            this.written = Parts.written(operation, rank, size);
            this.elementSize = operation.type.size();
            this.inPlace =
                    switch (operation.kind) {
                        case BROADCAST, ALL_REDUCE, REDUCE -> true;
                        default -> false;
                    };
        }

        void run() {
            try {
                fetch(0);
                for (long number = 0; number < windows.number(); number++) {
                    if (number + 1 < windows.number()) {
                        fetch(number + 1);
                    }
                    Slot slot = slot(number);
                    slot.comesDown = awaited(down, slot.comesDown);
                    call(slot, number);
                    deliver(slot, number);
                }
                if (windows.cut()) {
                    communicator.barrier(Mode.BLOCKING);
                }
                for (Slot slot : slots) {
                    if (slot != null) {
                        slot.goesUp = awaited(up, slot.goesUp);
                    }
                }
            } finally {
                end();
            }
        }

        private Slot slot(long number) {
            int index = (int) (number % DEPTH);
            if (slots[index] == null) {
                slots[index] = new Slot();
            }
            return slots[index];
        }

        private long from(long number) {
            return number * windows.length();
        }

        /** Makes room for a window, and has what is read of it come down. */
        private void fetch(long number) {
            Slot slot = slot(number);
            slot.goesUp = awaited(up, slot.goesUp);
            long from = from(number);
            long reads = read.within(from, windows.length()) * elementSize;
            long writes = written.within(from, windows.length()) * elementSize;
            if (inPlace) {
                slot.input = roomFor(slot.input, Math.max(reads, writes));
                slot.output = slot.input;
            } else {
                slot.input = roomFor(slot.input, reads);
                slot.output = roomFor(slot.output, writes);
            }
            if (reads > 0) {
                slot.comesDown = events.take();
                down.copy(
                        read,
                        from,
                        windows.length(),
                        slot.input.address(),
                        elementSize,
                        slot.comesDown);
            }
        }

        private PinnedMemory.Piece roomFor(PinnedMemory.Piece piece, long bytes) {
            if (piece != null && piece.bytes() >= bytes) {
                return piece;
            }
            if (piece != null) {
                memory.giveBack(piece);
            }
            return memory.take(Math.max(1, bytes));
        }

        private void call(Slot slot, long number) {
            long from = from(number);
            window.describeAs(operation);
            window.count = Parts.within(operation.count, from, windows.length());
            window.inputCounts = within(operation.inputCounts, from);
            window.outputCounts = within(operation.outputCounts, from);
            window.input = slot.input.address();
            window.output = slot.output.address();
            if (isRooted(operation.kind) && operation.peer != rank) {
                // Only the root has all the parts.
                window.input = operation.kind == OperationKind.SCATTER ? 0 : window.input;
                window.output = operation.kind == OperationKind.GATHER ? 0 : window.output;
            }
            window.call(communicator, Mode.BLOCKING);
        }

        private static boolean isRooted(OperationKind kind) {
            return kind == OperationKind.GATHER || kind == OperationKind.SCATTER;
        }

        private long[] within(long[] counts, long from) {
            if (counts == null) {
                return null;
            }
            long[] inside = new long[counts.length];
            for (int i = 0; i < counts.length; i++) {
                inside[i] = Parts.within(counts[i], from, windows.length());
            }
            return inside;
        }

        /** Has what came of a window go up. */
        private void deliver(Slot slot, long number) {
            long from = from(number);
            if (written.within(from, windows.length()) > 0) {
                slot.goesUp = events.take();
                up.copy(
                        written,
                        from,
                        windows.length(),
                        slot.output.address(),
                        elementSize,
                        slot.goesUp);
            }
        }

        /** Waits for an event, if there is one, and gives it back. */
        private long awaited(CopyStream stream, long event) {
            if (event != 0) {
                polling.awaitCopies(() -> stream.isDone(event));
                events.giveBack(event);
            }
            return 0;
        }

        /** Gives the host memory back, once no copy uses it nor, after a failure, the library. */
        private void end() {
            boolean free = !communicator.abandonsOperations();
            for (Slot slot : slots) {
                if (slot != null && !(isIdle(slot) && free)) {
                    free = false;
                }
            }
            if (!free) {
                // Losing memory beats having somebody write to what is used again.
                operation.retainMemory();
                return;
            }
            for (Slot slot : slots) {
                if (slot != null) {
                    giveBack(slot);
                }
            }
        }

        private boolean isIdle(Slot slot) {
            try {
                slot.comesDown = awaited(down, slot.comesDown);
                slot.goesUp = awaited(up, slot.goesUp);
                return true;
            } catch (RuntimeException e) {
                CleanUp.log("copies of " + operation.describe(), e);
                return false;
            }
        }

        private void giveBack(Slot slot) {
            if (slot.input != null) {
                memory.giveBack(slot.input);
            }
            if (slot.output != null && slot.output != slot.input) {
                memory.giveBack(slot.output);
            }
        }
    }
}
