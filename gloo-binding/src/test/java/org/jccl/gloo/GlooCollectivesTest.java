package org.jccl.gloo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.spi.Communicator.BLOCKING;

import java.util.List;
import org.jccl.Availability;
import org.jccl.DataType;
import org.jccl.ReduceOp;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class GlooCollectivesTest {

    @Test
    void isAvailableWithVersionAndPath() {
        assertThat(new GlooProvider().availability())
                .isInstanceOfSatisfying(
                        Availability.Available.class,
                        found -> {
                            assertThat(found.version()).isEqualTo("0.5.0");
                            assertThat(found.path()).endsWith("libgloo.so.0");
                        });
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5})
    void allReduceGivesEveryRankTheSum(int size) throws Exception {
        for (int count : new int[] {0, 1, 7, 1000, 100_003}) {
            List<float[]> results =
                    Ranks.run(
                            size,
                            (rank, communicator) -> {
                                Memory in = Memory.bytes(count * Float.BYTES);
                                for (int i = 0; i < count; i++) {
                                    in.bytes.putFloat(i * Float.BYTES, rank + i % 100);
                                }
                                Memory out = Memory.bytes(count * Float.BYTES);
                                communicator.allReduce(
                                        in.address,
                                        out.address,
                                        count,
                                        DataType.FLOAT32,
                                        ReduceOp.SUM,
                                        BLOCKING);
                                return out.floats();
                            });
            float[] expected = new float[count];
            for (int i = 0; i < count; i++) {
                expected[i] = size * (size - 1) / 2f + size * (i % 100);
            }
            assertThat(results).allSatisfy(result -> assertThat(result).isEqualTo(expected));
        }
    }
}
