package org.jccl.soak;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import org.jccl.DataType;
import org.jccl.ReduceOp;
import org.junit.jupiter.api.Test;

class ValuesTest {

    private static final int RANKS = 3;
    private static final int COUNT = 200;

    @Test
    void sumsOfFloatsAreThoseOfTheInputs() {
        float[] sums = new float[COUNT];
        for (int rank = 0; rank < RANKS; rank++) {
            float[] input =
                    floats(Values.input(DataType.FLOAT32, ReduceOp.SUM, RANKS, 7, rank, COUNT));
            for (int i = 0; i < COUNT; i++) {
                sums[i] += input[i];
            }
        }
        assertThat(floats(Values.reduced(DataType.FLOAT32, ReduceOp.SUM, RANKS, 7, COUNT)))
                .isEqualTo(sums);
    }

    @Test
    void integersWrapAround() {
        byte[] products = new byte[COUNT];
        Arrays.fill(products, (byte) 1);
        for (int rank = 0; rank < RANKS; rank++) {
            byte[] input = Values.input(DataType.INT8, ReduceOp.PRODUCT, RANKS, 7, rank, COUNT);
            for (int i = 0; i < COUNT; i++) {
                products[i] *= input[i];
            }
        }
        assertThat(Values.reduced(DataType.INT8, ReduceOp.PRODUCT, RANKS, 7, COUNT))
                .isEqualTo(products);
    }

    @Test
    void ranksAndSeedsHaveDifferentElements() {
        byte[] elements = Values.moved(DataType.INT64, Values.mix(1, 0), COUNT);
        assertThat(Values.moved(DataType.INT64, Values.mix(1, 0), COUNT)).isEqualTo(elements);
        assertThat(Values.moved(DataType.INT64, Values.mix(1, 1), COUNT)).isNotEqualTo(elements);
        assertThat(Values.moved(DataType.INT64, Values.mix(2, 0), COUNT)).isNotEqualTo(elements);
    }

    private static float[] floats(byte[] bytes) {
        float[] values = new float[bytes.length / Float.BYTES];
        ByteBuffer.wrap(bytes).order(ByteOrder.nativeOrder()).asFloatBuffer().get(values);
        return values;
    }
}
