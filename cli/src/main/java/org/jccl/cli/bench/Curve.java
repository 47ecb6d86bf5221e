package org.jccl.cli.bench;

import java.util.List;

/**
 * One line of a plot.
 *
 * @param name the name that distinguishes it from the others
 * @param points by size
 */
record Curve(String name, List<Point> points) {

    /**
     * One size.
     *
     * @param bytes the size, more than 0
     * @param micros median of the times, in microseconds
     * @param busBandwidth in GB/s; 0 with one rank, which sends nothing
     */
    record Point(long bytes, double micros, double busBandwidth) {}

    Curve {
        points = List.copyOf(points);
    }
}
