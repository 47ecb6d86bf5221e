package org.jccl.gloo;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jccl.DataType;
import org.jccl.ReduceOp;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What the shim needs of memory beside the tensors. */
class WorkspaceTest {

    private static final int SIZE = 8;
    private static final int COUNT = 8 << 20;
    private static final long BYTES = 4L * COUNT;

    /** Each rank keeps its input scaled; none needs its part of the result once for each rank. */
    @Test
    @Timeout(120)
    void aScaledReduceScatterTakesNoMoreThanItsInput() throws Exception {
        Memory input = Memory.bytes((int) BYTES);
        Memory output = Memory.bytes((int) BYTES);
        input.bytes.putFloat(4 * (COUNT - 1), 3);
        long[] counts = new long[SIZE];
        counts[0] = COUNT;
        Files.writeString(Path.of("/proc/self/clear_refs"), "5"); // begins a new peak
        long before = peak();
        Ranks.run(
                SIZE,
                (rank, communicator) -> {
                    communicator.reduceScatterV(
                            input.address,
                            rank == 0 ? output.address : 0,
                            counts,
                            DataType.FLOAT32,
                            ReduceOp.premulSum(0.5));
                    return null;
                });
        assertThat(output.bytes.getFloat(4 * (COUNT - 1))).isEqualTo(SIZE * 1.5f);
        assertThat(peak() - before).isLessThan((SIZE + SIZE / 2) * BYTES);
    }

    /** In bytes. */
    private static long peak() throws IOException {
        for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
            if (line.startsWith("VmHWM:")) {
                return 1024 * Long.parseLong(line.replaceAll("[^0-9]", ""));
            }
        }
        throw new IOException("no VmHWM");
    }
}
