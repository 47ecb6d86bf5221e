package org.jccl.internal.staged;

import org.jccl.internal.device.EventPool;
import org.jccl.internal.engine.GroupFailure;
import org.jccl.internal.host.Carrier;
import org.jccl.internal.operation.Operation;
import org.jccl.spi.CleanUp;
import org.jccl.spi.HostCommunicator;
import org.jccl.spi.HostCommunicator.Mode;
import org.jccl.spi.OperationKind;

/** Carries everything through host memory: collectives in windows, messages in one piece. */
final class StagedCarrier implements Carrier {

    private final StagedPlace place;
    private final HostCommunicator communicator;
    private final Patience patience;
    private final PinnedMemory memory;
    private final EventPool events;
    private final Pipeline pipeline;
    private final Messages messages;

    StagedCarrier(
            StagedPlace place,
            HostCommunicator communicator,
            GroupFailure failure,
            long graceNanos) {
        this.place = place;
        this.communicator = communicator;
        this.patience = new Patience(failure, graceNanos);
        this.memory = new PinnedMemory(place.runtime(), place.device());
        this.events = new EventPool(place.runtime(), false);
        this.pipeline = new Pipeline(place, communicator, memory, events, patience);
        this.messages = new Messages(place, communicator, memory, events, patience);
    }

    @Override
    public boolean carries(Operation operation) {
        return true;
    }

    @Override
    public void run(Operation operation) {
        place.awaitCaller(operation, patience);
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
        String where = place.group().toString();
        CleanUp.run(where, place::enter);
        CleanUp.run(where, pipeline::close);
        CleanUp.run(where, messages::close);
        CleanUp.run(where, events::destroyAll);
        CleanUp.run(where, memory::close);
        CleanUp.run(where, place::close);
    }
}
