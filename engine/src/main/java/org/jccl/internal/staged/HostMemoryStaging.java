package org.jccl.internal.staged;

import org.jccl.internal.device.EventPool;
import org.jccl.internal.engine.GroupFailure;
import org.jccl.internal.host.Staging;
import org.jccl.internal.operation.Operation;
import org.jccl.spi.CleanUp;
import org.jccl.spi.HostCommunicator;
import org.jccl.spi.HostCommunicator.Mode;
import org.jccl.spi.OperationKind;

/** Carries everything through host memory: collectives in windows, messages in one piece. */
final class HostMemoryStaging implements Staging {

    private final StagedLocation location;
    private final HostCommunicator communicator;
    private final PollingWait polling;
    private final PinnedMemory memory;
    private final EventPool events;
    private final Pipeline pipeline;
    private final Messages messages;

    HostMemoryStaging(
            StagedLocation location,
            HostCommunicator communicator,
            GroupFailure failure,
            long graceNanos) {
        this.location = location;
        this.communicator = communicator;
        this.polling = new PollingWait(failure, graceNanos);
        this.memory = new PinnedMemory(location.runtime(), location.device());
        this.events = new EventPool(location.runtime(), false);
        this.pipeline = new Pipeline(location, communicator, memory, events, polling);
        this.messages = new Messages(location, communicator, memory, events, polling);
    }

    @Override
    public boolean stages(Operation operation) {
        return true;
    }

    @Override
    public void run(Operation operation) {
        location.awaitCaller(operation, polling);
        if (operation.kind == OperationKind.BARRIER) {
            operation.call(communicator, Mode.BLOCKING);
        } else {
            pipeline.run(operation);
        }
    }

    @Override
    public long start(Operation message) {
        return messages.start(message);
    }

    @Override
    public boolean test(long request) {
        return messages.test(request);
    }

    @Override
    public int await(long request) {
        return messages.await(request);
    }

    @Override
    public void close() {
        String where = location.group().toString();
        CleanUp.run(where, location::enter);
        CleanUp.run(where, pipeline::close);
        CleanUp.run(where, messages::close);
        CleanUp.run(where, events::destroyAll);
        CleanUp.run(where, memory::close);
        CleanUp.run(where, location::close);
    }
}
