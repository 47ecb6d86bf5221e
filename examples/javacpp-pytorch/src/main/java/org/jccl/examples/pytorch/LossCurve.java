package org.jccl.examples.pytorch;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;

/** A drawing of the loss of each step. */
final class LossCurve {

    private static final int WIDTH = 640;
    private static final int HEIGHT = 320;
    private static final int MARGIN = 40;

    private LossCurve() {}

    static void write(Path file, float[] losses) throws IOException {
        float largest = 0;
        for (float loss : losses) {
            largest = Math.max(largest, loss);
        }
        StringBuilder points = new StringBuilder();
        for (int step = 0; step < losses.length; step++) {
            double x = MARGIN + (double) step / losses.length * (WIDTH - 2 * MARGIN);
            double y = HEIGHT - MARGIN - losses[step] / largest * (HEIGHT - 2 * MARGIN);
            points.append(String.format(Locale.ROOT, "%.1f,%.1f ", x, y));
        }
        String svg =
                """
                <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %1$d %2$d" font-family="sans-serif">
                <rect width="%1$d" height="%2$d" fill="white"/>
                <path d="M%3$d,%3$d V%4$d H%5$d" fill="none" stroke="black"/>
                <text x="4" y="%3$d" font-size="12">%6$.2f</text>
                <text x="28" y="%4$d" font-size="12">0</text>
                <text x="%5$d" y="%7$d" font-size="12" text-anchor="end">step %8$d, loss %9$.3f</text>
                <polyline points="%10$s" fill="none" stroke="steelblue" stroke-width="2"/>
                </svg>
                """;
        Files.writeString(
                file,
                String.format(
                        Locale.ROOT,
                        svg,
                        WIDTH,
                        HEIGHT,
                        MARGIN,
                        HEIGHT - MARGIN,
                        WIDTH - MARGIN,
                        largest,
                        HEIGHT - MARGIN / 2,
                        losses.length,
                        losses[losses.length - 1],
                        points.toString().trim()));
    }
}
