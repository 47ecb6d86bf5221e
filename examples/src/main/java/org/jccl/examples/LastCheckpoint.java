package org.jccl.examples;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.Optional;
import org.jccl.ProcessGroup;
import org.jccl.Tensor;
import org.jccl.training.Checkpoint;

/** The checkpoint that all ranks go on from. */
final class LastCheckpoint {

    private static final long NONE = -1;

    private LastCheckpoint() {}

    /**
     * Opens what a directory has. Of a file system that hosts share each may see another state for
     * a while, and ranks that begin at different steps would add up what does not belong together,
     * so they compare.
     *
     * @param world all of whose ranks call it
     * @param directory of the checkpoint
     * @param progress name of the text that tells how far training had come
     * @return the same on all ranks; empty where there is none
     * @throws IllegalStateException on all ranks, when they see different ones
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
