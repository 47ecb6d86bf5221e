package org.jccl.nccl;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.JcclException;
import org.jccl.spi.CommunicatorConfig;

/**
 * Communicators of two ranks, one for each peer with which this rank sends or receives. PyTorch's
 * ranks form one at the first send or receive outside a batch, unless they are bound to a device.
 * Their peers must do the same.
 */
final class NcclPairs {

    private final CommunicatorConfig config;

    /** By peer, which is the order in which all ranks close them. */
    private final AtomicReferenceArray<FutureTask<NcclHandle>> pairs;

    private volatile boolean ended;

    /**
     * Prepares pairs with the ranks of a group.
     *
     * @param config the group's
     */
    NcclPairs(CommunicatorConfig config) {
        this.config = config;
        this.pairs = new AtomicReferenceArray<>(config.size());
    }

    /** The peer's rank in the communicator with it: 0 for the lower rank, 1 for the higher. */
    int rankOf(int peer) {
        return peer < config.rank() ? 0 : 1;
    }

    /**
     * Lets the calling thread into the communicator with a peer, which the first call forms.
     *
     * @param peer rank in the group
     * @param stream of the message
     * @throws org.jccl.OperationTimeoutException if the peer has no message for this rank in time
     */
    NcclCalls enter(int peer, long stream) {
        FutureTask<NcclHandle> pair = pairs.get(peer);
        if (pair == null) {
            pair = new FutureTask<>(() -> NcclConnector.connectPair(config, peer));
            if (pairs.compareAndSet(peer, null, pair)) {
                pair.run();
            } else {
                pair = pairs.get(peer);
            }
        }
        try {
            NcclHandle formed = pair.get();
            if (ended) {
                formed.abort();
            }
            return formed.enter(stream);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof JcclException failure) {
                throw failure;
            }
            throw new IllegalStateException(e.getCause());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new GroupAbortedException(
                    FailureContext.NONE,
                    "interrupted while the communicator with rank " + peer + " was formed");
        }
    }

    private List<NcclHandle> formed() {
        List<NcclHandle> formed = new ArrayList<>();
        for (int peer = 0; peer < pairs.length(); peer++) {
            FutureTask<NcclHandle> pair = pairs.get(peer);
            try {
                if (pair != null && pair.isDone()) {
                    formed.add(pair.get());
                }
            } catch (InterruptedException | ExecutionException notFormed) {
                // The message that needed the pair has reported the reason.
            }
        }
        return formed;
    }

    /** Returns an error that NCCL reported without a call on any of them, or null. */
    JcclException asynchronousError() {
        for (NcclHandle handle : formed()) {
            JcclException error = handle.asynchronousError();
            if (error != null) {
                return error;
            }
        }
        return null;
    }

    void abort() {
        ended = true;
        formed().forEach(NcclHandle::abort);
    }

    void close() {
        ended = true;
        formed().forEach(NcclHandle::close);
    }
}
