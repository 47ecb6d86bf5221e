package org.jccl.examples.pytorch;

import static org.bytedeco.pytorch.global.torch.from_blob;

import java.util.stream.IntStream;
import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * Images of handwritten digits, 8 by 8 pixels, as tensors; the data of the other examples.
 *
 * @param images of shape [n, 1, 8, 8], from 0 to 1
 * @param labels of shape [n], 0 to 9
 */
record Digits(Tensor images, Tensor labels) {

    static final int SIDE = 8;
    static final int CLASSES = org.jccl.examples.Digits.CLASSES;

    private static final int PIXELS = org.jccl.examples.Digits.PIXELS;

    /** Copies images into tensors. */
    static Digits of(org.jccl.examples.Digits digits, TrainingDevice where) {
        int count = digits.size();
        float[] pixels = new float[count * PIXELS];
        long[] numbers = new long[count];
        for (int i = 0; i < count; i++) {
            System.arraycopy(digits.images()[i], 0, pixels, i * PIXELS, PIXELS);
            numbers[i] = digits.labels()[i];
        }
        try (FloatPointer images = new FloatPointer(pixels);
                LongPointer labels = new LongPointer(numbers)) {
            return new Digits(
                    where.move(from_blob(images, count, 1, SIDE, SIDE).clone()),
                    where.move(
                            from_blob(
                                            labels,
                                            new long[] {count},
                                            new TensorOptions(ScalarType.Long))
                                    .clone()));
        }
    }

    long size() {
        return labels.size(0);
    }

    /** The images at some places. */
    Digits select(int[] places, TrainingDevice where) {
        try (LongPointer numbers = new LongPointer(IntStream.of(places).asLongStream().toArray());
                Tensor index =
                        from_blob(
                                numbers,
                                new long[] {places.length},
                                new TensorOptions(ScalarType.Long))) {
            Tensor there = where.move(index);
            return new Digits(images.index_select(0, there), labels.index_select(0, there));
        }
    }
}
