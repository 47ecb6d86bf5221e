package org.jccl.launch;

import java.time.Duration;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jccl.spi.Deadline;

/** Stops processes together with all their descendants. */
final class ProcessTree {

    private ProcessTree() {}

    /**
     * Sends SIGTERM to the processes, and SIGKILL to those that are alive after the grace period.
     *
     * @param roots the processes
     * @param grace how long they may take to end
     */
    static void stop(Collection<ProcessHandle> roots, Duration grace) {
        // The children of a process cannot be found after its end, so they are listed first.
        Set<ProcessHandle> all = withDescendants(roots);
        all.forEach(ProcessHandle::destroy);
        awaitEnd(all, grace);
        all.addAll(withDescendants(all));
        all.forEach(ProcessHandle::destroyForcibly);
        awaitEnd(all, grace);
    }

    private static Set<ProcessHandle> withDescendants(Collection<ProcessHandle> roots) {
        Set<ProcessHandle> all = new LinkedHashSet<>(roots);
        roots.forEach(root -> root.descendants().forEach(all::add));
        all.removeIf(process -> !process.isAlive());
        return all;
    }

    private static void awaitEnd(Collection<ProcessHandle> processes, Duration limit) {
        CompletableFuture<?>[] ends =
                processes.stream().map(ProcessHandle::onExit).toArray(CompletableFuture<?>[]::new);
        try {
            long nanos = Deadline.after(limit).nanosLeft();
            CompletableFuture.allOf(ends).get(nanos, TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            // Kill at once, and keep the interrupt flag for the caller.
            Thread.currentThread().interrupt();
        } catch (TimeoutException | ExecutionException stillAlive) {
            // The remaining processes are killed below.
        }
    }
}
