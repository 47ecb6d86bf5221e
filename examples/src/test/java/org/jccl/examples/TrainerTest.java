package org.jccl.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import org.junit.jupiter.api.Test;

class TrainerTest {

    private static final int BATCH = 64;

    private final Digits.Split digits = Digits.load();

    @Test
    void dataHasAllDigitsInBothParts() {
        assertThat(digits.train().size() + digits.test().size()).isEqualTo(1797);
        assertThat(Arrays.stream(digits.train().labels()).distinct().count()).isEqualTo(10);
        assertThat(Arrays.stream(digits.test().labels()).distinct().count()).isEqualTo(10);
        assertThat(digits.train().images()).hasDimensions(digits.train().size(), Digits.PIXELS);
    }

    @Test
    void learnsTheDigits() {
        Network network = train(GradientAverage.OF_ONE_RANK, 30);
        assertThat(network.accuracy(digits.test())).isGreaterThan(0.95);
    }

    @Test
    void sameSeedGivesTheSameBits() {
        Network one = train(GradientAverage.OF_ONE_RANK, 2);
        Network other = train(GradientAverage.OF_ONE_RANK, 2);
        assertThat(Proof.difference(one, other)).isZero();
    }

    @Test
    void proofNoticesOneLostGradient() {
        Network right = train(GradientAverage.OF_ONE_RANK, 30);
        Network wrong = train(new LosesOneGradient(), 30);
        double difference = Proof.difference(right, wrong);
        assertThat(difference).isGreaterThan(50 * Proof.TOLERANCE);
        assertThat(new Proof(true, difference).holds()).isFalse();
    }

    @Test
    void proofNoticesWhatIsNoNumber() {
        Network network = new Network(1);
        Network broken = new Network(1);
        broken.layers().get(0).weights[3] = Float.NaN;
        assertThat(Proof.difference(network, broken)).isInfinite();
    }

    private Network train(GradientAverage average, int epochs) {
        Network network = new Network(1);
        Trainer trainer = new Trainer(network, average, 0, 1, BATCH, 1);
        for (int epoch = 0; epoch < epochs; epoch++) {
            trainer.epoch(digits.train());
        }
        return network;
    }

    /** As if one of four ranks had given nothing in one step. */
    private static final class LosesOneGradient implements GradientAverage {

        private int step;

        @Override
        public void start(Layer layer) {
            for (int i = 0; i < layer.gradient.length && step == 100; i++) {
                layer.gradient[i] *= 0.75f;
            }
        }

        @Override
        public void finish() {
            step++;
        }
    }
}
