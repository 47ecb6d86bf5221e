package org.jccl.internal.staged;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jccl.FailureContext;
import org.jccl.internal.device.EventPool;
import org.jccl.internal.engine.GroupFailure;
import org.jccl.internal.host.Staging;
import org.jccl.internal.operation.Operation;
import org.jccl.spi.CleanUp;
import org.jccl.spi.DeviceRuntime;
import org.jccl.spi.DeviceRuntime.Copy;
import org.jccl.spi.HostCommunicator;
import org.jccl.spi.OperationKind;

/** Carries every operation through host memory: down from the device, the library, up again. */
final class HostMemoryStaging implements Staging {

    private static final long IDLE_SECONDS = 5;

    final StagedLocation location;
    final HostCommunicator communicator;
    final PollingWait polling;
    final PinnedMemory memory;

    /** Of collectives. The watchdog, which brings receives forward, never waits for these. */
    final CopyStream down;

    final CopyStream up;
    final CopyStream sends;
    final CopyStream receives;
    private final EventPool events;

    private final Map<Long, Message> messages = new ConcurrentHashMap<>();
    private final AtomicLong requests = new AtomicLong(HostCommunicator.COMPLETE);

    /**
     * Passes sends to the library, in the order of the calls: each waits for its caller's stream,
     * which the caller must not. The thread exists while it is needed.
     */
    private final ThreadPoolExecutor sender;

    HostMemoryStaging(
            StagedLocation location,
            HostCommunicator communicator,
            GroupFailure failure,
            long graceNanos) {
        DeviceRuntime runtime = location.runtime();
        this.location = location;
        this.communicator = communicator;
        this.polling = new PollingWait(failure, graceNanos);
        this.memory = new PinnedMemory(runtime, location.device());
        this.events = new EventPool(runtime, false);
        this.down = new CopyStream(runtime, events, Copy.DEVICE_TO_HOST);
        this.up = new CopyStream(runtime, events, Copy.HOST_TO_DEVICE);
        this.sends = new CopyStream(runtime, events, Copy.DEVICE_TO_HOST);
        this.receives = new CopyStream(runtime, events, Copy.HOST_TO_DEVICE);
        FailureContext group = location.group();
        String name = "jccl-send-" + group.group() + "-" + group.rank();
        this.sender =
                new ThreadPoolExecutor(
                        1,
                        1,
                        IDLE_SECONDS,
                        TimeUnit.SECONDS,
                        new LinkedBlockingQueue<>(),
                        task -> {
                            Thread made = new Thread(task, name);
                            made.setDaemon(true);
                            return made;
                        });
        sender.allowCoreThreadTimeOut(true);
    }

    @Override
    public boolean stages(Operation operation) {
        return true;
    }

    @Override
    public void run(Operation operation) {
        location.awaitCaller(operation, polling);
        if (operation.kind == OperationKind.BARRIER) {
            operation.call(communicator);
            return;
        }
        Transfer transfer = new Transfer(this, operation);
        try {
            transfer.copyDown();
            transfer.awaitCopy();
            transfer.call();
            transfer.copyUp();
            transfer.awaitCopy();
        } finally {
            transfer.end();
        }
    }

    @Override
    public long start(Operation operation) {
        long request = requests.incrementAndGet();
        if (operation.kind == OperationKind.RECV) {
            messages.put(request, new Receive(this, operation));
        } else {
            Send send = new Send(this, operation);
            messages.put(request, send);
            sender.execute(send.handover);
        }
        return request;
    }

    @Override
    public boolean test(long request) {
        return messages.get(request).test();
    }

    @Override
    public int await(long request) {
        return messages.remove(request).await();
    }

    @Override
    public void close() {
        String where = location.group().toString();
        sender.shutdown();
        CleanUp.run(where, location::enter);
        CleanUp.run(where, down::close);
        CleanUp.run(where, up::close);
        CleanUp.run(where, sends::close);
        CleanUp.run(where, receives::close);
        CleanUp.run(where, events::destroyAll);
        CleanUp.run(where, memory::close);
        CleanUp.run(where, location::close);
    }
}
