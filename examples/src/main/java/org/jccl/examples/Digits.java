package org.jccl.examples;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.zip.GZIPInputStream;

/**
 * Images of handwritten digits, 8 by 8 pixels, with their labels. The README beside the data names
 * the authors.
 *
 * @param images one array of {@link #PIXELS} values from 0 to 1 an image
 * @param labels the digits, 0 to 9
 */
public record Digits(float[][] images, int[] labels) {

    /** Pixels of an image, row by row. */
    public static final int PIXELS = 64;

    /** Different digits. */
    public static final int CLASSES = 10;

    private static final float BRIGHTEST = 16;
    private static final int TEST_EVERY = 5;

    /**
     * The images for training and a fifth of them for testing.
     *
     * @param train images for training
     * @param test images for testing
     */
    public record Split(Digits train, Digits test) {}

    /**
     * Reads the images, which are in the jar.
     *
     * @return all of them
     */
    public static Split load() {
        List<String> train = new ArrayList<>();
        List<String> test = new ArrayList<>();
        try (BufferedReader lines =
                new BufferedReader(
                        new InputStreamReader(
                                new GZIPInputStream(
                                        Objects.requireNonNull(
                                                Digits.class.getResourceAsStream("digits.csv.gz"),
                                                "digits.csv.gz is not in the jar")),
                                StandardCharsets.US_ASCII))) {
            int number = 0;
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                (number++ % TEST_EVERY == 0 ? test : train).add(line);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return new Split(parse(train), parse(test));
    }

    private static Digits parse(List<String> lines) {
        float[][] images = new float[lines.size()][PIXELS];
        int[] labels = new int[lines.size()];
        for (int i = 0; i < labels.length; i++) {
            String[] values = lines.get(i).split(",");
            for (int pixel = 0; pixel < PIXELS; pixel++) {
                images[i][pixel] = Integer.parseInt(values[pixel]) / BRIGHTEST;
            }
            labels[i] = Integer.parseInt(values[PIXELS]);
        }
        return new Digits(images, labels);
    }

    /**
     * Number of images.
     *
     * @return more than 0
     */
    public int size() {
        return labels.length;
    }

    /**
     * Selects the images of a part of an order.
     *
     * @param order numbers of images
     * @param from index of the first one
     * @param to index after the last one
     * @return those images, which are shared and not copied
     */
    public Digits select(int[] order, int from, int to) {
        float[][] someImages = new float[to - from][];
        int[] someLabels = new int[to - from];
        for (int i = from; i < to; i++) {
            someImages[i - from] = images[order[i]];
            someLabels[i - from] = labels[order[i]];
        }
        return new Digits(someImages, someLabels);
    }
}
