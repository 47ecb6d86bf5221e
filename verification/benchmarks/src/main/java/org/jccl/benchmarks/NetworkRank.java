package org.jccl.benchmarks;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.time.Duration;
import java.util.Locale;
import org.jccl.JcclException;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;

/**
 * A rank of {@code script/test-network}: adds numbers up with the others for a while and checks
 * each sum. What ends it, and when, is printed in one line.
 */
public final class NetworkRank {

    private static final int COUNT = 4096;

    private static long begun = System.nanoTime();

    private NetworkRank() {}

    /**
     * Runs the rank that the environment says.
     *
     * @param args the group's timeout in seconds, and for how many to go on
     */
    public static void main(String[] args) {
        Duration timeout = Duration.ofSeconds(Long.parseLong(args[0]));
        double goOn = Double.parseDouble(args[1]);
        int calls = 0;
        try (ProcessGroup world = ProcessGroup.builder().backend("gloo").timeout(timeout).build()) {
            tell("formed a world of " + world.size());
            begun = System.nanoTime();
            FloatBuffer data =
                    ByteBuffer.allocateDirect(COUNT * Float.BYTES)
                            .order(ByteOrder.nativeOrder())
                            .asFloatBuffer();
            float end;
            do {
                // What rank 0 says decides for all whether this was the last call.
                end = world.rank() == 0 && seconds() > goOn ? 1 : 0;
                for (int i = 1; i < COUNT; i++) {
                    data.put(i, world.rank() + i + calls);
                }
                data.put(0, end);
                world.sync().allReduce(Tensor.of(data), ReduceOp.SUM);
                int size = world.size();
                for (int i = 1; i < COUNT; i++) {
                    float wanted = size * (size - 1) / 2f + (float) size * (i + calls);
                    if (data.get(i) != wanted) {
                        tell("WRONG at " + i + ": " + data.get(i) + " instead of " + wanted);
                        System.exit(3);
                    }
                }
                calls++;
            } while (data.get(0) == 0);
            tell(calls + " all_reduces, all right");
        } catch (JcclException e) {
            tell(
                    "after "
                            + calls
                            + " all_reduces "
                            + e.getClass().getSimpleName()
                            + ": "
                            + e.getMessage());
            System.exit(1);
        }
    }

    static double seconds() {
        return (System.nanoTime() - begun) / 1e9;
    }

    static void tell(String what) {
        System.out.println(
                String.format(
                        Locale.ROOT,
                        "rank %s at %.1f s: %s",
                        System.getenv("RANK"),
                        seconds(),
                        what));
    }
}
