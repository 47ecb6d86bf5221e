package org.jccl.training;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.ProcessGroup;
import org.jccl.UsageException;
import org.jccl.spi.BoundedCall;

/**
 * Saves checkpoints while training continues. Training stops only while {@link #save} copies this
 * rank's part to host memory. A thread then continues as {@link Checkpoint#save} does: it writes
 * the part, and the ranks agree that all parts are complete before they replace the earlier
 * checkpoint.
 *
 * <pre>{@code
 * try (CheckpointWriter writer = CheckpointWriter.of(world)) {
 *     for (each step) {
 *         ...
 *         if (step % 1000 == 0) {
 *             writer.save(directory, shards, Map.of("step", Integer.toString(step)));
 *         }
 *     }
 * }
 * }</pre>
 *
 * <p>One save is in progress at a time, so there is one copy of this rank's part: {@code save}
 * waits for the previous save. A failed save is reported once on all ranks, by the next call of
 * {@code save}, {@link #await} or {@link #close}. It is also logged if no thread waits for it. If a
 * process ends before a save is complete, with or without {@code close}, the last complete
 * checkpoint remains.
 *
 * <p>All ranks must make the same calls in the same order. Not thread-safe.
 */
public final class CheckpointWriter implements AutoCloseable {

    /**
     * The deadlines of the group limit a save. Ranks must not stop waiting one by one before that.
     */
    private static final Duration LONGEST = Duration.ofDays(365);

    private final ProcessGroup group;
    private final HostCopies copies = new HostCopies();
    private Optional<BoundedCall> running = Optional.empty();
    private boolean closed;

    private CheckpointWriter(ProcessGroup group) {
        this.group = group;
    }

    /**
     * Makes a writer. All ranks must call it. The writer makes its own group of the same ranks, so
     * that its thread does not interfere with the operations of the program.
     *
     * @param group a group on the CPU; the saved tensors may be on devices. A program that trains
     *     on devices makes a separate group for this, for instance with {@code gloo}
     * @return the writer, which the caller closes before the group
     * @throws UsageException if the group is null, not on the CPU, or has no store
     * @throws JcclException if the ranks do not arrive in time
     */
    public static CheckpointWriter of(ProcessGroup group) {
        if (group == null) {
            throw new UsageException(FailureContext.NONE, "group is null");
        }
        if (!group.devices().get(0).isCpu()) {
            throw new UsageException(
                    FailureContext.ofGroup(group.name(), group.rank()),
                    "a CheckpointWriter needs a group on the CPU, and this one is on "
                            + group.devices()
                            + "; make one with another backend, for instance gloo");
        }
        List<Integer> ranks = IntStream.range(0, group.size()).boxed().toList();
        return new CheckpointWriter(group.newGroup(ranks).orElseThrow());
    }

    /**
     * Starts a save. Waits for the previous one, copies this rank's part to host memory, and
     * returns. The program may then change its tensors. The first save of a shard allocates memory
     * for its copy.
     *
     * <p>Arguments and failures are those of {@link Checkpoint#save}. The next call throws a
     * failure; that call saves nothing.
     *
     * @param directory a directory that all ranks see under this name
     * @param shards this rank's shards
     * @param metadata texts by name
     * @throws UsageException if an argument is null, or this writer is closed
     * @throws DifferentModelsException if the previous save failed with it
     * @throws CheckpointException if the previous save failed with it
     * @throws JcclException if the previous save failed with it
     */
    public void save(Path directory, List<Shard> shards, Map<String, String> metadata) {
        if (directory == null || shards == null || metadata == null) {
            throw new UsageException(FailureContext.NONE, "directory, shards or metadata is null");
        }
        if (closed) {
            throw new UsageException(
                    FailureContext.ofGroup(group.name(), group.rank()),
                    "this CheckpointWriter is closed");
        }
        await();
        CheckpointSave save =
                new CheckpointSave(
                        group, directory, new ArrayList<>(shards), new LinkedHashMap<>(metadata));
        save.snapshot(copies);
        running = Optional.of(BoundedCall.start("jccl-checkpoint-" + group.rank(), save::run));
    }

    /**
     * Waits until the last save is complete.
     *
     * @throws DifferentModelsException if the last save failed with it and this was not reported
     *     before
     * @throws CheckpointException under the same condition
     * @throws JcclException under the same condition
     */
    public void await() {
        Optional<BoundedCall> last = running;
        running = Optional.empty();
        last.ifPresent(save -> save.await(LONGEST));
    }

    /**
     * Waits until the last save is complete, and frees the copies. Idempotent.
     *
     * @throws DifferentModelsException as {@link #await}
     * @throws CheckpointException as {@link #await}
     * @throws JcclException as {@link #await}
     */
    @Override
    public void close() {
        if (closed) {
            return;
        }
        closed = true;
        try {
            await();
        } finally {
            copies.close();
            group.close();
        }
    }
}
