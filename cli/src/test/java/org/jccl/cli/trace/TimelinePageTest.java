package org.jccl.cli.trace;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;
import static org.jccl.cli.trace.Recordings.ALL_REDUCE;
import static org.jccl.cli.trace.Recordings.blocked;
import static org.jccl.cli.trace.Recordings.recording;
import static org.jccl.cli.trace.Recordings.span;

import java.awt.image.BufferedImage;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The page as it is written, and as a browser shows it. */
final class TimelinePageTest {

    private static final int ALL_REDUCE_COLOR = 0xff3987d6;
    private static final int MOST_MARKUP = 40_000;

    @TempDir private Path folder;

    private Path page(Recording... recordings) throws IOException {
        Path page = folder.resolve("timeline.html");
        TimelinePage.write(Timeline.of(List.of(recordings), ""), page);
        return page;
    }

    /** Two ranks, two steps; rank 1 comes late to the second. */
    private Path ordinaryPage() throws IOException {
        return page(
                recording(
                        0,
                        2,
                        List.of(blocked(0, 110, 200), blocked(1, 1100, 1950)),
                        span(ALL_REDUCE, 0, 100, 200),
                        span(ALL_REDUCE, 1, 1000, 1950)),
                recording(
                        1,
                        2,
                        List.of(blocked(0, 120, 210), blocked(1, 1910, 1960)),
                        span(ALL_REDUCE, 0, 100, 210),
                        span(ALL_REDUCE, 1, 1900, 1960)));
    }

    private static Path browser() {
        String path = System.getenv().getOrDefault("PATH", "");
        Path found =
                Stream.of("chromium", "chromium-browser", "google-chrome")
                        .flatMap(
                                name ->
                                        Stream.of(path.split(File.pathSeparator))
                                                .map(each -> Path.of(each, name)))
                        .filter(Files::isExecutable)
                        .findFirst()
                        .orElse(null);
        assumeThat(found)
                .as("no Chromium on the PATH; script/bootstrap --with-browser installs it")
                .isNotNull();
        return found;
    }

    /** Returns what the browser printed. */
    private String browse(Path page, String place, String... options) throws Exception {
        List<String> command = new ArrayList<>();
        command.add(browser().toString());
        command.addAll(
                List.of(
                        "--headless",
                        "--no-sandbox",
                        "--disable-gpu",
                        "--disable-dev-shm-usage",
                        "--hide-scrollbars",
                        "--enable-logging=stderr",
                        "--window-size=1000,800",
                        "--user-data-dir=" + folder.resolve("profile"),
                        "--virtual-time-budget=2000"));
        command.addAll(List.of(options));
        command.add(page.toUri() + place);
        Path output = folder.resolve("browser.out");
        Path errors = folder.resolve("browser.err");
        Process process =
                new ProcessBuilder(command)
                        .redirectOutput(output.toFile())
                        .redirectError(errors.toFile())
                        .start();
        try {
            assertThat(process.waitFor(90, TimeUnit.SECONDS)).isTrue();
        } finally {
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly();
        }
        assertThat(process.exitValue()).as(Files.readString(errors)).isZero();
        assertThat(Files.readString(errors)).doesNotContain("CONSOLE");
        return Files.readString(output);
    }

    @Test
    void needsNothingElse() throws IOException {
        String page = Files.readString(ordinaryPage());
        assertThat(page)
                .contains("default-src 'none'; script-src 'sha256-")
                .doesNotContain("/*STYLE*/", "/*DATA*/", "/*SCRIPT*/", "SCRIPT-HASH")
                .doesNotContainPattern("(src|href)=|https?:|@import|url\\(");
    }

    @Test
    void aBrowserShowsWhoWaitsForWhom() throws Exception {
        String shown = browse(ordinaryPage(), "#step=1-2&select=1", "--dump-dom");
        assertThat(shown)
                .contains("data-ready=\"true\"")
                .contains("2 ranks, 4 operations, 1.86 ms from 1970-01-01 00:00:00 UTC")
                // Four operations, and how often each program was blocked.
                .contains("data-drawn=\"8\"")
                .contains("<td>2</td><td>0.900 ms</td><td>960.0 µs</td><td>1</td><td>1</td>")
                .contains(
                        "All ranks wait for the last to arrive: rank 1, 900.0 µs after the first.")
                .contains("nothing proves that clocks differ");
    }

    @Test
    void aBrowserFinds() throws Exception {
        String shown = browse(ordinaryPage(), "#find=%231&from=0&to=0.2", "--dump-dom");
        assertThat(shown).contains(">2 found<", "data-drawn=\"4\"");
    }

    @Test
    void whatWasRecordedIsNeverMarkup() throws Exception {
        String evil =
                "</script><script>document.title='x'</script><img src=x onerror=\"document.title='x'\">"
                        + "<!--/*SCRIPT*/ \u2028 \" &lt;";
        Path page =
                page(
                        new Recording(
                                0,
                                evil,
                                List.of(0, 1),
                                9_000,
                                evil,
                                List.of(
                                        new Recording.Span(evil, evil, true, 0, 1, 1000, 2000),
                                        span(evil, 1, 3, 4)),
                                List.of(new Recording.Wait(evil, true, 0, 1000, 2000)),
                                false));
        String written = Files.readString(page);
        assertThat(written.split("<script", -1)).hasSize(3);
        assertThat(written).doesNotContain("<img", "<!--");
        String shown = browse(page, "#select=0&find=img", "--dump-dom");
        String elements = shown.substring(0, shown.indexOf("<script type="));
        assertThat(elements.length()).isLessThan(MOST_MARKUP);
        assertThat(elements)
                .contains("&lt;img src=x onerror=", "<title>JCCL timeline</title>", ">2 found<")
                .doesNotContain("<img", "<script");
    }

    @Test
    void aBrowserDrawsInLightAndDark() throws Exception {
        Path page = ordinaryPage();
        BufferedImage light = screenshot(page, 1);
        BufferedImage dark = screenshot(page, 0);
        assertThat(pixels(light, ALL_REDUCE_COLOR)).isGreaterThan(500);
        assertThat(pixels(dark, ALL_REDUCE_COLOR)).isGreaterThan(500);
        assertThat(pixels(light, 0xffffffff)).isGreaterThan(100_000);
        assertThat(pixels(dark, 0xff0d1117)).isGreaterThan(100_000);
    }

    private BufferedImage screenshot(Path page, int scheme) throws Exception {
        Path picture = folder.resolve("picture" + scheme + ".png");
        browse(
                page,
                "",
                "--screenshot=" + picture,
                "--blink-settings=preferredColorScheme=" + scheme);
        return ImageIO.read(picture.toFile());
    }

    private static long pixels(BufferedImage image, int color) {
        long count = 0;
        for (int y = 0; y < image.getHeight(); y++) {
            for (int x = 0; x < image.getWidth(); x++) {
                if (image.getRGB(x, y) == color) {
                    count++;
                }
            }
        }
        return count;
    }

    @Test
    void recordingsWithoutOperationsAreAPageToo() throws Exception {
        String shown = browse(page(recording(0, 1)), "", "--dump-dom");
        assertThat(shown).contains("1 rank, 0 operations", "No collective repeats");
    }
}
