package org.jccl.architecture;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/**
 * Each deadline in a test says whether it is to pass: the literals stand in {@code
 * org.jccl.testing.Patience.enough(..)} or {@code expires(..)}. Otherwise a test that is green on a
 * quick host fails on a slow one.
 */
class TestDeadlinesTest {

    private static final Path ROOT = Path.of("..", "..").toAbsolutePath().normalize();

    private static final Pattern LITERAL =
            Pattern.compile(
                    "(\\w+\\(\\s*)?\\bDuration\\s*\\.of(?:Nanos|Millis|Seconds|Minutes|Hours|Days)\\(\\s*\\d");

    private static final Pattern ELAPSED = Pattern.compile("Duration\\.ofNanos\\([^;]*isLessThan");

    /** Their durations are values, which nothing waits for, or the words themselves. */
    private static final Set<String> EXCEPTIONS =
            Set.of(
                    "CommConfigTest",
                    "GlooOptionsTest",
                    "GroupListenerTest",
                    "HcclHandleTest",
                    "HcclOptionsTest",
                    "JcclMetricsTest",
                    "JfrEventsTest",
                    "Misuse",
                    "OwnDevices",
                    "Patience");

    @Test
    void everyDeadlineSaysWhetherItPasses() throws IOException {
        List<String> others = new ArrayList<>();
        List<Path> tests = tests();
        assertThat(tests).hasSizeGreaterThan(300);
        for (Path test : tests) {
            String source = Files.readString(test);
            Matcher found = LITERAL.matcher(source);
            while (found.find()) {
                String outer = found.group(1) == null ? "" : found.group(1).strip();
                if (!outer.equals("enough(") && !outer.equals("expires(")) {
                    others.add(place(test, source, found.start()));
                }
            }
        }
        assertThat(others)
                .as("use Patience.enough(..) for a deadline that must not pass, expires(..) else")
                .isEmpty();
    }

    /** A test that something ends a wait waits without a deadline of its own. */
    @Test
    void noTestAssertsThatSomethingWasQuick() throws IOException {
        List<String> others = new ArrayList<>();
        for (Path test : tests()) {
            String source = Files.readString(test);
            Matcher found = ELAPSED.matcher(source);
            while (found.find()) {
                others.add(place(test, source, found.start()));
            }
        }
        assertThat(others).as("use Patience.NEVER as the deadline").isEmpty();
    }

    private static String place(Path file, String source, int at) {
        return ROOT.relativize(file) + ":" + source.substring(0, at).lines().count();
    }

    private static List<Path> tests() throws IOException {
        List<Path> found = new ArrayList<>();
        Files.walkFileTree(
                ROOT,
                new SimpleFileVisitor<>() {
                    @Override
                    public FileVisitResult preVisitDirectory(
                            Path folder, BasicFileAttributes attributes) {
                        String name = folder.getFileName().toString();
                        return !folder.equals(ROOT)
                                        && (name.equals("target")
                                                || name.equals("main")
                                                || name.startsWith("."))
                                ? FileVisitResult.SKIP_SUBTREE
                                : FileVisitResult.CONTINUE;
                    }

                    @Override
                    public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
                        String name = file.getFileName().toString();
                        if (name.endsWith(".java")
                                && file.toString().contains("/src/test/")
                                && !EXCEPTIONS.contains(name.replace(".java", ""))) {
                            found.add(file);
                        }
                        return FileVisitResult.CONTINUE;
                    }

                    @Override
                    public FileVisitResult visitFileFailed(Path file, IOException e) {
                        throw new UncheckedIOException(e);
                    }
                });
        return found;
    }
}
