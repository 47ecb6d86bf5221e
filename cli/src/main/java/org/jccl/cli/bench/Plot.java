package org.jccl.cli.bench;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * A plot. The common properties of all measurements are the title, and the others distinguish the
 * curves apart.
 *
 * @param title above the plot
 * @param curves one for each source, operation, backend, type and number of ranks
 */
record Plot(String title, List<Curve> curves) {

    /** Readers cannot distinguish more; {@code bench all} has nine with a size. */
    static final int MOST_CURVES = 12;

    private static final List<Function<Key, String>> FACTS =
            List.of(Key::operation, Key::backend, Key::type, Key::ranks);

    /** The common properties of the measurements of one curve. */
    private record Key(
            String operation,
            String backend,
            String type,
            String ranks,
            String source,
            boolean named) {

        static Key of(Measurement one) {
            return new Key(
                    one.operation(),
                    one.backend(),
                    one.type(),
                    one.ranks() + (one.ranks() == 1 ? " rank" : " ranks"),
                    one.source(),
                    one.named());
        }
    }

    /**
     * Plans a plot. Measurements without a size, such as those of a barrier, are left out.
     *
     * @throws IllegalArgumentException if nothing is left, or more curves than can be distinguished
     */
    static Plot of(List<Measurement> measurements) {
        Map<Key, List<Measurement>> groups =
                measurements.stream()
                        .filter(each -> each.bytes() > 0 && each.micros() > 0)
                        .collect(
                                Collectors.groupingBy(
                                        Key::of, LinkedHashMap::new, Collectors.toList()));
        if (groups.isEmpty()) {
            throw new IllegalArgumentException(
                    "there is nothing to plot: no operation that has a size was measured");
        }
        if (groups.size() > MOST_CURVES) {
            throw new IllegalArgumentException(
                    groups.size()
                            + " curves cannot be distinguished; plot at most "
                            + MOST_CURVES
                            + ", for instance one operation at a time");
        }
        List<Key> keys = List.copyOf(groups.keySet());
        Map<Boolean, List<Function<Key, String>>> facts =
                FACTS.stream()
                        .collect(
                                Collectors.partitioningBy(
                                        fact -> keys.stream().map(fact).distinct().count() > 1));
        Function<Key, String> naming = naming(keys, facts.get(true));
        List<Curve> curves = new ArrayList<>();
        groups.forEach((key, group) -> curves.add(curve(naming.apply(key), group)));
        return new Plot(words(keys.get(0), facts.get(false)), curves);
    }

    /**
     * Checks that this Java can draw.
     *
     * @throws IOException if it cannot
     */
    static void requireDrawing() throws IOException {
        try {
            SvgPlot.tryOut();
        } catch (RuntimeException | Error e) {
            // The JDK reports this in different ways, depending on its version.
            throw new IOException(
                    "this Java runtime cannot draw ("
                            + e
                            + "); it needs the module java.desktop, fontconfig and a font, on"
                            + " Debian the packages libfontconfig1, libfreetype6, libharfbuzz0b and"
                            + " fonts-dejavu-core",
                    e);
        }
    }

    /** The shortest names that differ. */
    private static Function<Key, String> naming(
            List<Key> keys, List<Function<Key, String>> differing) {
        Function<Key, String> facts =
                key -> differing.isEmpty() ? key.backend() : words(key, differing);
        Function<Key, String> shortest = key -> key.named() ? key.source() : facts.apply(key);
        boolean tellsApart = keys.stream().map(shortest).distinct().count() == keys.size();
        return tellsApart ? shortest : key -> key.source() + ": " + facts.apply(key);
    }

    private static String words(Key key, List<Function<Key, String>> facts) {
        return facts.stream().map(fact -> fact.apply(key)).collect(Collectors.joining(", "));
    }

    private static Curve curve(String name, List<Measurement> group) {
        boolean wrong = group.stream().anyMatch(each -> each.wrong() > 0);
        return new Curve(
                wrong ? name + " (WRONG RESULTS)" : name,
                group.stream()
                        .map(
                                each ->
                                        new Curve.Point(
                                                each.bytes(), each.micros(), each.busBandwidth()))
                        .sorted(Comparator.comparingLong(Curve.Point::bytes))
                        .toList());
    }
}
