package org.jccl.nccl;

import java.time.Duration;
import java.util.stream.IntStream;
import org.jccl.ProcessGroup;
import org.jccl.conformance.ConformanceBackend;
import org.jccl.conformance.Rank;
import org.jccl.conformance.Ranks;
import org.jccl.store.PrefixStore;
import org.jccl.store.Store;
import org.opentest4j.TestAbortedException;

/**
 * Ranks as processes that run the same tests in the same order: each does its own rank's part of a
 * body. A body for more ranks than there are is left out, and its test is skipped when nothing else
 * of it ran.
 */
final class ProcessRanks implements Ranks {

    private final ConformanceBackend backend;
    private final int rank;
    private final int processes;
    private final Store store;
    private final String test;
    private int bodies;
    private int ran;

    /**
     * Creates the ranks of one test.
     *
     * @param backend makes the groups
     * @param rank of this process
     * @param processes how many there are
     * @param store shared by all
     * @param test the same for all processes, and of this test only
     */
    ProcessRanks(ConformanceBackend backend, int rank, int processes, Store store, String test) {
        this.backend = backend;
        this.rank = rank;
        this.processes = processes;
        this.store = store;
        this.test = test;
    }

    @Override
    public void run(int size, Duration timeout, Body body) {
        Store shared = new PrefixStore(test + "/" + bodies++, store);
        if (size > processes) {
            if (ran == 0) {
                throw new TestAbortedException("needs " + size + " ranks, there are " + processes);
            }
            return;
        }
        ran++;
        if (rank >= size) {
            return;
        }
        try (ProcessGroup group = backend.join(shared, rank, size, timeout)) {
            body.run(new Rank(group, shared, backend));
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Exception e) {
            throw new AssertionError("rank " + rank + " failed: " + e, e);
        }
        // Nobody leaves while another needs this rank's group.
        shared.set("done/" + rank, new byte[0]);
        shared.await(IntStream.range(0, size).mapToObj(each -> "done/" + each).toList(), TIMEOUT);
    }
}
