package org.jccl.examples.pytorch;

import static org.bytedeco.pytorch.global.torch.from_blob;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Objects;
import java.util.stream.IntStream;
import java.util.zip.GZIPInputStream;
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
    static final int CLASSES = 10;

    private static final int PIXELS = SIDE * SIDE;
    private static final float BRIGHTEST = 16;
    private static final int TEST_EVERY = 5;

    /** A fifth of the images, for testing, or the others. */
    static Digits load(boolean test) {
        List<String> lines = lines();
        return parse(
                IntStream.range(0, lines.size())
                        .filter(i -> (i % TEST_EVERY == 0) == test)
                        .mapToObj(lines::get)
                        .toList());
    }

    private static List<String> lines() {
        try (BufferedReader lines =
                new BufferedReader(
                        new InputStreamReader(
                                new GZIPInputStream(
                                        Objects.requireNonNull(
                                                Digits.class.getResourceAsStream(
                                                        "/org/jccl/examples/digits.csv.gz"),
                                                "jccl-examples is not on the class path")),
                                StandardCharsets.US_ASCII))) {
            return lines.lines().toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Digits parse(List<String> lines) {
        int count = lines.size();
        float[] pixels = new float[count * PIXELS];
        long[] labels = new long[count];
        for (int i = 0; i < count; i++) {
            String[] values = lines.get(i).split(",");
            for (int pixel = 0; pixel < PIXELS; pixel++) {
                pixels[i * PIXELS + pixel] = Integer.parseInt(values[pixel]) / BRIGHTEST;
            }
            labels[i] = Long.parseLong(values[PIXELS]);
        }
        try (FloatPointer images = new FloatPointer(pixels);
                LongPointer digits = new LongPointer(labels)) {
            return new Digits(
                    from_blob(images, count, 1, SIDE, SIDE).clone(),
                    from_blob(digits, new long[] {count}, new TensorOptions(ScalarType.Long))
                            .clone());
        }
    }

    long size() {
        return labels.size(0);
    }

    /** The images at some places. */
    Digits select(int[] places) {
        try (LongPointer numbers = new LongPointer(IntStream.of(places).asLongStream().toArray());
                Tensor index =
                        from_blob(
                                numbers,
                                new long[] {places.length},
                                new TensorOptions(ScalarType.Long))) {
            return new Digits(images.index_select(0, index), labels.index_select(0, index));
        }
    }
}
