package org.jccl.internal.staged;

import java.util.ArrayDeque;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.jccl.FailureContext;
import org.jccl.internal.device.EventPool;
import org.jccl.internal.operation.Operation;
import org.jccl.spi.CleanUp;
import org.jccl.spi.DeviceRuntime.Copy;
import org.jccl.spi.HostCommunicator;
import org.jccl.spi.OperationKind;

/**
 * The messages of a group that are on their way. They go in one piece each: of what comes from any
 * rank, two receives could not tell whose pieces they get.
 */
final class Messages {

    /** What was enqueued on a stream, up to an event. */
    private record Copies(CopyStream stream, long event) {}

    final HostCommunicator communicator;
    final StagedLocation location;
    private final PollingWait polling;
    private final PinnedMemory memory;
    private final EventPool events;

    /** Used by the thread of the sends only. */
    private final CopyStream down;

    /** Guarded by itself: any thread that polls a receive copies it up. */
    private final CopyStream up;

    private final Map<Long, Message> underway = new ConcurrentHashMap<>();
    private final AtomicLong requests = new AtomicLong(HostCommunicator.COMPLETE);

    /** Behind the copies of messages, while there are such. */
    private final Map<Message, Copies> copies = new ConcurrentHashMap<>();

    // Guarded by the queue.
    private final ArrayDeque<Send> queue = new ArrayDeque<>();
    private boolean hasThread;
    private boolean closed;

    Messages(
            StagedLocation location,
            HostCommunicator communicator,
            PinnedMemory memory,
            EventPool events,
            PollingWait polling) {
        this.location = location;
        this.communicator = communicator;
        this.memory = memory;
        this.events = events;
        this.polling = polling;
        this.down = new CopyStream(location.runtime(), Copy.DEVICE_TO_HOST);
        this.up = new CopyStream(location.runtime(), Copy.HOST_TO_DEVICE);
    }

    /** Starts one; the device must be current. */
    long start(Operation operation) {
        long request = requests.incrementAndGet();
        if (operation.kind == OperationKind.RECV) {
            underway.put(request, new Receive(this, operation));
            return request;
        }
        Send send = new Send(this, operation);
        underway.put(request, send);
        synchronized (queue) {
            queue.add(send);
            if (!hasThread) {
                hasThread = true;
                FailureContext group = location.group();
                Thread sender =
                        new Thread(
                                this::handOver, "jccl-send-" + group.group() + "-" + group.rank());
                sender.setDaemon(true);
                sender.start();
            }
            queue.notifyAll();
        }
        return request;
    }

    boolean test(long request) {
        return underway.get(request).test();
    }

    int await(long request) {
        return underway.remove(request).await();
    }

    /** The life of the thread of the sends: one after the other, in the order of the calls. */
    private void handOver() {
        CleanUp.run("thread of sends", location::prepareOwnThread);
        while (true) {
            Send send;
            synchronized (queue) {
                while (queue.isEmpty()) {
                    if (closed) {
                        return;
                    }
                    try {
                        queue.wait();
                    } catch (InterruptedException e) {
                        // Nobody has a reason to interrupt this thread; closing ends it.
                        continue;
                    }
                }
                send = queue.remove();
            }
            send.handOver();
        }
    }

    PinnedMemory.Piece roomFor(Operation operation) {
        return memory.take(Math.max(1, operation.count * operation.type.size()));
    }

    void awaitCaller(Operation operation) {
        location.awaitCaller(operation, polling);
    }

    void copyDown(Message message) {
        copy(
                down,
                Parts.read(message.operation, location.group().rank(), location.size()),
                message);
    }

    void copyUp(Message message) {
        synchronized (up) {
            copy(
                    up,
                    Parts.written(message.operation, location.group().rank(), location.size()),
                    message);
        }
    }

    private void copy(CopyStream stream, Parts parts, Message message) {
        Operation operation = message.operation;
        long event = events.take();
        copies.put(message, new Copies(stream, event));
        stream.copy(
                parts, 0, operation.count, message.memory.address(), operation.type.size(), event);
    }

    /** Whether what a message has copied last is where it belongs. */
    boolean copiesAreDone(Message message) {
        Copies last = copies.get(message);
        if (last != null) {
            if (!last.stream.isDone(last.event)) {
                return false;
            }
            copies.remove(message);
            events.giveBack(last.event);
        }
        return true;
    }

    /** The same for a message that failed, of which nothing is waited for beyond the limit. */
    boolean copiesHaveEnded(Message message) {
        try {
            return copiesAreDone(message) || isOver();
        } catch (RuntimeException e) {
            return true; // giveBackAfterFailure meets it again
        }
    }

    /** Whether nothing is waited for any longer, because the group failed long ago. */
    boolean isOver() {
        return polling.isOver();
    }

    RuntimeException tooLate() {
        return polling.tooLate();
    }

    void requireNoFailure() {
        polling.requireNoFailure();
    }

    void awaitCopies(Message message) {
        polling.awaitCopies(() -> copiesAreDone(message));
    }

    /** Takes the host memory of a message back that is where it belongs. */
    void giveBack(Message message) {
        memory.giveBack(message.memory);
    }

    /** The same for one that failed, unless a copy or the library still uses it. */
    void giveBackAfterFailure(Message message) {
        try {
            awaitCopies(message);
        } catch (RuntimeException e) {
            CleanUp.log("copies of " + message.operation.describe(), e);
            message.operation.retainMemory();
            return;
        }
        if (!communicator.abandonsOperations()) {
            memory.giveBack(message.memory);
        }
    }

    void close() {
        synchronized (queue) {
            closed = true;
            queue.notifyAll();
        }
        down.close();
        up.close();
    }
}
