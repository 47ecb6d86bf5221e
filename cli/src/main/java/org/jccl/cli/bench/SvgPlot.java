package org.jccl.cli.bench;

import java.awt.BasicStroke;
import java.awt.Color;
import java.awt.Dimension;
import java.awt.Font;
import java.io.IOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;
import java.util.stream.DoubleStream;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.parsers.ParserConfigurationException;
import org.apache.batik.svggen.SVGGeneratorContext;
import org.apache.batik.svggen.SVGGraphics2D;
import org.apache.batik.svggen.SVGSyntax;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.XYChartBuilder;
import org.knowm.xchart.XYSeries;
import org.knowm.xchart.style.Styler.LegendPosition;
import org.knowm.xchart.style.XYStyler;
import org.knowm.xchart.style.markers.Marker;
import org.knowm.xchart.style.markers.SeriesMarkers;
import org.w3c.dom.Document;
import org.w3c.dom.Element;

/**
 * Draws a plot: latency and bus bandwidth against size, side by side, with logarithmic axes. On one
 * machine, the same plot has the same bytes. Other fonts may change positions.
 */
final class SvgPlot {

    private static final int PANEL_WIDTH = 480;
    private static final int HEIGHT = 400;
    private static final int TITLE_HEIGHT = 34;
    private static final int LEGEND_WIDTH = 200;

    /** More lines of text would hide the curves. */
    private static final int MOST_NAMES_INSIDE = 4;

    private static final String FONT = Font.SANS_SERIF;
    private static final Color TEXT = new Color(0x24292f);
    private static final Color GRID = new Color(0xe4e7eb);

    /** The colours of Okabe and Ito, which the colour-blind can distinguish, without yellow. */
    private static final Color[] COLORS = {
        new Color(0x0072b2), new Color(0xd55e00), new Color(0x009e73),
        new Color(0xcc79a7), new Color(0x56b4e9), new Color(0xe69f00)
    };

    private static final Marker[] MARKERS = {
        SeriesMarkers.CIRCLE, SeriesMarkers.SQUARE, SeriesMarkers.DIAMOND
    };

    private SvgPlot() {}

    /** Draws a small plot to check that this Java can draw. */
    static void tryOut() throws IOException {
        Curve curve = new Curve("nothing", List.of(new Curve.Point(1, 1, 1)));
        write(new Plot("", List.of(curve)), Writer.nullWriter());
    }

    /**
     * Writes a plot to a file.
     *
     * @throws IOException if it cannot be written
     */
    static void write(Plot plot, Path file) throws IOException {
        try (Writer out = Files.newBufferedWriter(file, StandardCharsets.UTF_8)) {
            write(plot, out);
        }
    }

    private static void write(Plot plot, Writer out) throws IOException {
        System.setProperty("java.awt.headless", "true");
        SVGGraphics2D svg = draw(plot);
        Element root = svg.getRoot();
        // Letters are drawn as shapes, so screen readers and searches get the text here.
        add(root, "desc", description(plot));
        add(root, "title", plot.title());
        svg.stream(root, out, false, false);
        out.flush();
    }

    private static void add(Element root, String tag, String text) {
        Document document = root.getOwnerDocument();
        Element element = document.createElementNS(SVGSyntax.SVG_NAMESPACE_URI, tag);
        element.appendChild(document.createTextNode(text));
        root.insertBefore(element, root.getFirstChild());
    }

    private static String description(Plot plot) {
        StringBuilder text = new StringBuilder("latency and bus bandwidth against size\n");
        for (Curve curve : plot.curves()) {
            text.append(curve.name()).append('\n');
            for (Curve.Point point : curve.points()) {
                text.append(
                        String.format(
                                Locale.ROOT,
                                "  %d bytes: %.2f microseconds, %.6f GB/s\n",
                                point.bytes(),
                                point.micros(),
                                point.busBandwidth()));
            }
        }
        return text.toString();
    }

    private static SVGGraphics2D draw(Plot plot) throws IOException {
        boolean bandwidth =
                plot.curves().stream()
                        .flatMap(curve -> curve.points().stream())
                        .anyMatch(point -> point.busBandwidth() > 0);
        boolean beside = plot.curves().size() > MOST_NAMES_INSIDE;
        int panels = bandwidth ? 2 : 1;
        int width = panels * PANEL_WIDTH + (beside ? LEGEND_WIDTH : 0);
        SVGGraphics2D svg = new SVGGraphics2D(context(), false);
        svg.setSVGCanvasSize(new Dimension(width, TITLE_HEIGHT + HEIGHT));
        svg.setColor(Color.WHITE); // a background, so that it is readable on dark pages
        svg.fillRect(0, 0, width, TITLE_HEIGHT + HEIGHT);
        svg.setColor(TEXT);
        svg.setFont(new Font(FONT, Font.BOLD, 15));
        svg.drawString(plot.title(), 16, 23);
        svg.translate(0, TITLE_HEIGHT);
        int last = PANEL_WIDTH + (beside ? LEGEND_WIDTH : 0);
        XYChart latency = chart("latency, one call", bandwidth ? PANEL_WIDTH : last, plot);
        fill(latency, plot, Curve.Point::micros, SvgPlot::micros);
        latency.getStyler().setLegendVisible(plot.curves().size() > 1 && (!beside || !bandwidth));
        latency.paint(svg, latency.getWidth(), HEIGHT);
        if (bandwidth) {
            svg.translate(PANEL_WIDTH, 0);
            XYChart bus = chart("bus bandwidth, GB/s", last, plot);
            fill(bus, plot, Curve.Point::busBandwidth, SvgPlot::plain);
            bus.getStyler().setLegendVisible(beside);
            bus.paint(svg, last, HEIGHT);
        }
        return svg;
    }

    private static SVGGeneratorContext context() throws IOException {
        try {
            Document document =
                    DocumentBuilderFactory.newInstance()
                            .newDocumentBuilder()
                            .getDOMImplementation()
                            .createDocument(SVGSyntax.SVG_NAMESPACE_URI, "svg", null);
            SVGGeneratorContext context = SVGGeneratorContext.createDefault(document);
            context.setComment("made by jccl");
            return context;
        } catch (ParserConfigurationException e) {
            throw new IOException("this Java runtime cannot make XML: " + e.getMessage(), e);
        }
    }

    private static XYChart chart(String title, int width, Plot plot) {
        XYChart chart = new XYChartBuilder().width(width).height(HEIGHT).title(title).build();
        chart.setXAxisTitle("size");
        XYStyler styler = chart.getStyler();
        styler.setChartBackgroundColor(Color.WHITE);
        styler.setPlotBackgroundColor(Color.WHITE);
        styler.setChartFontColor(TEXT);
        styler.setChartTitleFont(new Font(FONT, Font.PLAIN, 13));
        styler.setAxisTickLabelsFont(new Font(FONT, Font.PLAIN, 11));
        styler.setLegendFont(new Font(FONT, Font.PLAIN, 12));
        styler.setAxisTickLabelsColor(TEXT);
        styler.setAxisTitleFont(new Font(FONT, Font.PLAIN, 12));
        styler.setPlotGridLinesColor(GRID);
        styler.setPlotGridLinesStroke(new BasicStroke(1));
        styler.setPlotBorderVisible(false);
        styler.setLegendBorderColor(Color.WHITE);
        styler.setLegendBackgroundColor(Color.WHITE);
        styler.setAntiAlias(true);
        boolean beside = plot.curves().size() > MOST_NAMES_INSIDE;
        styler.setLegendPosition(beside ? LegendPosition.OutsideE : LegendPosition.InsideNW);
        styler.setMarkerSize(7);
        // Sizes are powers of two. A decimal axis would label them with odd numbers.
        double least = exponents(plot).min().orElse(0);
        double most = exponents(plot).max().orElse(0);
        styler.setXAxisMin(least == most ? least - 1 : least);
        styler.setXAxisMax(least == most ? most + 1 : most);
        styler.setXAxisTickLabelsFormattingFunction(SvgPlot::size);
        return chart;
    }

    private static DoubleStream exponents(Plot plot) {
        return plot.curves().stream()
                .flatMap(curve -> curve.points().stream())
                .mapToDouble(point -> exponent(point.bytes()));
    }

    private static double exponent(long bytes) {
        return Math.log(bytes) / Math.log(2);
    }

    private static void fill(
            XYChart chart,
            Plot plot,
            ToDoubleFunction<Curve.Point> value,
            Function<Double, String> label) {
        double least = Double.POSITIVE_INFINITY;
        double most = 0;
        for (int i = 0; i < plot.curves().size(); i++) {
            Curve curve = plot.curves().get(i);
            // A value of 0 has no logarithm, such as the bandwidth of one rank.
            List<Curve.Point> points =
                    curve.points().stream().filter(each -> value.applyAsDouble(each) > 0).toList();
            if (points.isEmpty()) {
                continue;
            }
            XYSeries series =
                    chart.addSeries(
                            curve.name(),
                            points.stream().mapToDouble(each -> exponent(each.bytes())).toArray(),
                            points.stream().mapToDouble(value).toArray());
            series.setLineColor(COLORS[i % COLORS.length]);
            series.setMarkerColor(COLORS[i % COLORS.length]);
            series.setLineStyle(new BasicStroke(2));
            series.setMarker(MARKERS[i / COLORS.length % MARKERS.length]);
            for (Curve.Point point : points) {
                least = Math.min(least, value.applyAsDouble(point));
                most = Math.max(most, value.applyAsDouble(point));
            }
        }
        XYStyler styler = chart.getStyler();
        styler.setYAxisLogarithmic(true);
        styler.setYAxisTickLabelsFormattingFunction(label);
        styler.setYAxisMin(Math.pow(10, Math.floor(Math.log10(least))));
        double top = Math.pow(10, Math.ceil(Math.log10(most)));
        styler.setYAxisMax(top <= styler.getYAxisMin() ? top * 10 : top);
    }

    /** Of a power of two; nothing between them. */
    static String size(double exponent) {
        if (exponent < 0 || exponent != Math.rint(exponent)) {
            return "";
        }
        int unit = Math.min(4, (int) exponent / 10);
        String[] units = {"B", "KB", "MB", "GB", "TB"};
        return (1L << (int) exponent - 10 * unit) + " " + units[unit];
    }

    static String micros(double value) {
        if (value >= 1e6) {
            return plain(value / 1e6) + " s";
        }
        return value >= 1e3 ? plain(value / 1e3) + " ms" : plain(value) + " \u00b5s";
    }

    /** Of a power of ten, without an exponent. */
    static String plain(double value) {
        double power = Math.pow(10, Math.rint(Math.log10(value)));
        if (Math.abs(value / power - 1) > 1e-6) {
            return "";
        }
        int decimals = Math.max(0, (int) -Math.rint(Math.log10(value)));
        return String.format(Locale.ROOT, "%." + decimals + "f", value);
    }
}
