package org.jccl.examples;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.Optional;
import org.jccl.ProcessGroup;
import org.jccl.Tensor;
import org.jccl.training.Checkpoint;

/** The checkpoint from which all ranks continue. */
final class LastCheckpoint {

    private static final long NONE = -1;

    private LastCheckpoint() {}

    /**
     * Opens the checkpoint in a directory. Hosts may see different states of a shared file system
     * for a while. Ranks that begin at different steps would add up gradients of different steps,
     * so they compare what they see.
     *
     * @param world every rank of it calls this method
     * @param directory of the checkpoint
     * @param progress name of the metadata with the progress of the training
     * @return the same on all ranks; empty if there is no checkpoint
     * @throws IllegalStateException on all ranks, if they see different checkpoints
     */
    static Optional<Checkpoint> open(ProcessGroup world, Path directory, String progress) {
        Optional<Checkpoint> last =
                Checkpoint.exists(directory)
                        ? Optional.of(Checkpoint.open(directory))
                        : Optional.empty();
        long mine = last.map(found -> Long.parseLong(found.metadata().get(progress))).orElse(NONE);
        long[] all = new long[world.size()];
        try (Tensor input = Tensor.copyOf(new long[] {mine});
                Tensor output = Tensor.copyOf(all)) {
            world.sync().allGatherSingle(output, input);
            output.copyTo(all);
        }
        if (Arrays.stream(all).anyMatch(each -> each != mine)) {
            throw new IllegalStateException(
                    String.format(
                            "ranks see different checkpoints in %s: by rank, %s are %s (%d: none);"
                                    + " start again when all hosts see the same files",
                            directory, progress, Arrays.toString(all), NONE));
        }
        return last;
    }
}
