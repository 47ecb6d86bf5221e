package org.jccl.training;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Random;
import org.junit.jupiter.api.Test;

final class HalfFloatsTest {

    @Test
    void everyValueComesBack() {
        for (int bits = 0; bits < 1 << 16; bits++) {
            float half = HalfFloats.ofFloat16((short) bits);
            float brain = HalfFloats.ofBfloat16((short) bits);
            if (!Float.isNaN(half)) {
                assertThat(HalfFloats.toFloat16(half)).isEqualTo((short) bits);
            }
            if (!Float.isNaN(brain)) {
                assertThat(HalfFloats.toBfloat16(brain)).isEqualTo((short) bits);
            }
        }
    }

    @Test
    void knownValues() {
        assertThat(HalfFloats.ofFloat16((short) 0x3c00)).isEqualTo(1);
        assertThat(HalfFloats.ofFloat16((short) 0x7bff)).isEqualTo(65504);
        assertThat(HalfFloats.ofFloat16((short) 0x0001)).isEqualTo(0x1p-24f);
        assertThat(HalfFloats.ofFloat16((short) 0xc000)).isEqualTo(-2);
        assertThat(HalfFloats.ofBfloat16((short) 0x3f80)).isEqualTo(1);
        assertThat(HalfFloats.toFloat16(65520)).isEqualTo((short) 0x7c00);
        assertThat(HalfFloats.toFloat16(65519)).isEqualTo((short) 0x7bff);
        assertThat(HalfFloats.toFloat16(1e30f)).isEqualTo((short) 0x7c00);
        assertThat(HalfFloats.toFloat16(0x1p-25f)).isZero(); // in the middle: to even
        assertThat(HalfFloats.toFloat16(0x1.8p-25f)).isEqualTo((short) 1);
        assertThat(HalfFloats.toFloat16(-0.0f)).isEqualTo((short) 0x8000);
        assertThat(HalfFloats.ofFloat16(HalfFloats.toFloat16(Float.NaN))).isNaN();
        assertThat(HalfFloats.ofBfloat16(HalfFloats.toBfloat16(Float.NaN))).isNaN();
        // A payload in the low bits only must not become infinity.
        assertThat(HalfFloats.ofBfloat16(HalfFloats.toBfloat16(Float.intBitsToFloat(0x7f800001))))
                .isNaN();
        assertThat(HalfFloats.toBfloat16(1 + 0x1p-8f)).isEqualTo((short) 0x3f80); // to even
        assertThat(HalfFloats.toBfloat16(1 + 0x1.8p-7f)).isEqualTo((short) 0x3f82); // to even
        assertThat(HalfFloats.toBfloat16(Float.MAX_VALUE)).isEqualTo((short) 0x7f80);
    }

    /** No other value is nearer. */
    @Test
    void roundsToTheNearest() {
        Random random = new Random(3);
        for (int i = 0; i < 300_000; i++) {
            float value = (float) (random.nextGaussian() * Math.pow(2, random.nextInt(50) - 30));
            short half = HalfFloats.toFloat16(value);
            double distance = Math.abs((double) HalfFloats.ofFloat16(half) - value);
            for (int next = -1; next <= 1; next += 2) {
                double other = HalfFloats.ofFloat16((short) (half + next));
                if (Double.isFinite(other) && Math.abs(value) < 65504) {
                    assertThat(Math.abs(other - value)).isGreaterThanOrEqualTo(distance);
                }
            }
        }
    }
}
