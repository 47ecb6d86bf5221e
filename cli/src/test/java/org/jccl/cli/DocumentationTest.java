package org.jccl.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayInputStream;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;

/**
 * Links of the documentation lead somewhere, in the whole tree, and what it has users copy works.
 */
@Timeout(120)
final class DocumentationTest {

    private static final Path TREE = Path.of("..").toAbsolutePath().normalize();

    private static final Pattern CODE = Pattern.compile("(?ms)^( {0,3})```.*?^ {0,3}```|`[^`\n]*`");

    private static final Pattern LINK =
            Pattern.compile("\\]\\(([^)\\s]+)(?:\\s+\"[^\"]*\")?\\)|(?:src|href)=\"([^\"]+)\"");

    private static final Pattern HEADING = Pattern.compile("(?m)^#{1,6} +(.*?) *$");

    private static List<Path> pages() throws IOException {
        List<Path> pages = new ArrayList<>();
        Files.walkFileTree(
                TREE,
                new SimpleFileVisitor<>() {
                    @Override
                    public FileVisitResult preVisitDirectory(
                            Path folder, BasicFileAttributes attributes) {
                        String name = folder.getFileName().toString();
                        boolean made = name.startsWith(".") || name.equals("target");
                        return made ? FileVisitResult.SKIP_SUBTREE : FileVisitResult.CONTINUE;
                    }

                    @Override
                    public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
                        if (file.getFileName().toString().endsWith(".md")) {
                            pages.add(file);
                        }
                        return FileVisitResult.CONTINUE;
                    }
                });
        return pages;
    }

    /** The anchors that GitHub and the site give the headings of a page. */
    private static Set<String> anchors(String page) {
        Set<String> anchors = new HashSet<>();
        HEADING.matcher(page.replaceAll("(?ms)^```.*?^```", ""))
                .results()
                .map(heading -> heading.group(1).replaceAll("\\[([^]]*)]\\([^)]*\\)", "$1"))
                .map(heading -> heading.toLowerCase(Locale.ROOT).replaceAll("[^\\w\\- ]", ""))
                .forEach(heading -> anchors.add(heading.replace(' ', '-')));
        return anchors;
    }

    private static List<String> faults(Path page, String content) throws IOException {
        List<String> faults = new ArrayList<>();
        for (MatchResult link :
                LINK.matcher(CODE.matcher(content).replaceAll("")).results().toList()) {
            String target = link.group(1) != null ? link.group(1) : link.group(2);
            if (target.matches("[a-z]+:.*")) {
                continue;
            }
            String[] parts = target.split("#", 2);
            Path file = parts[0].isEmpty() ? page : page.resolveSibling(parts[0]).normalize();
            if (!Files.exists(file)) {
                faults.add(TREE.relativize(page) + ": " + target + " is not there");
            } else if (parts.length == 2
                    && file.toString().endsWith(".md")
                    && !anchors(Files.readString(file)).contains(parts[1])) {
                faults.add(TREE.relativize(page) + ": " + target + " has no such heading");
            }
        }
        return faults;
    }

    @Test
    void linksLeadSomewhere() throws IOException {
        List<Path> pages = pages();
        assertThat(pages).contains(TREE.resolve("README.md"), TREE.resolve("docs/errors.md"));
        List<String> faults = new ArrayList<>();
        for (Path page : pages) {
            faults.addAll(faults(page, Files.readString(page)));
        }
        assertThat(faults).isEmpty();
    }

    @Test
    void everyPageOfTheDocumentationIsNamedInTheReadme() throws IOException {
        String readme = Files.readString(TREE.resolve("README.md"));
        List<String> pages;
        try (var files = Files.list(TREE.resolve("docs"))) {
            pages = files.map(file -> file.getFileName().toString()).sorted().toList();
        }
        assertThat(pages)
                .filteredOn(page -> page.endsWith(".md"))
                .allSatisfy(page -> assertThat(readme).contains("(docs/" + page));
    }

    @Test
    void theFirstProgramOfTheReadmeIsTheOneThatTheDemoRuns() throws IOException {
        String program =
                Files.readString(
                        TREE.resolve(
                                "examples/src/main/java/org/jccl/examples/AllReduceHello.java"));
        assertThat(Files.readString(TREE.resolve("README.md")))
                .contains(
                        "```java\n"
                                + program.substring(
                                        program.indexOf("import"), program.indexOf("/**"))
                                + program.substring(program.indexOf("final class"))
                                + "```");
        assertThat(Files.readString(TREE.resolve("script/demo"))).contains("AllReduceHello");
    }

    /** Otherwise a reader of the site finds it by search only. */
    @Test
    void everyPageIsInTheNavigationOfTheSite() throws IOException {
        String navigation = Files.readString(TREE.resolve("docs/mkdocs.yml"));
        assertThat(pages())
                .extracting(page -> TREE.relativize(page).toString())
                .allSatisfy(
                        page ->
                                assertThat(navigation.lines())
                                        .anyMatch(line -> line.endsWith(" " + page)));
    }

    /** The only block of a language in the page for new users. {@code script/test-release} too. */
    private static String block(String language) throws IOException {
        String page = Files.readString(TREE.resolve("docs/getting-started.md"));
        List<String> blocks =
                Pattern.compile("(?ms)^```" + language + "\n(.*?)^```$")
                        .matcher(page)
                        .results()
                        .map(block -> block.group(1))
                        .toList();
        assertThat(blocks).as("blocks of %s", language).hasSize(1);
        return blocks.get(0);
    }

    private static Element parsed(String pom) throws Exception {
        return DocumentBuilderFactory.newInstance()
                .newDocumentBuilder()
                .parse(new ByteArrayInputStream(pom.getBytes(StandardCharsets.UTF_8)))
                .getDocumentElement();
    }

    private static List<String> texts(Element pom, String name) {
        NodeList elements = pom.getElementsByTagName(name);
        return IntStream.range(0, elements.getLength())
                .mapToObj(i -> elements.item(i).getTextContent())
                .toList();
    }

    @Test
    void thePomOfGettingStartedIsOfThisVersionAndSaysWhatMavenMustKnow() throws Exception {
        Element pom = parsed(block("xml"));
        Element root = parsed(Files.readString(TREE.resolve("pom.xml")));
        Element bom = parsed(Files.readString(TREE.resolve("release/bom/pom.xml")));
        String level = texts(root, "maven.compiler.release").get(0);
        assertThat(texts(pom, "modelVersion")).containsExactly("4.0.0");
        // Maven 3.8 compiles for Java 5 without these.
        assertThat(texts(pom, "maven.compiler.source")).containsExactly(level);
        assertThat(texts(pom, "maven.compiler.target")).containsExactly(level);
        String version = texts(root, "version").get(0).replace("-SNAPSHOT", "");
        assertThat(texts(pom, "jccl.version")).containsExactly(version);
        assertThat(block("groovy")).contains("'org.jccl:jccl-gloo:" + version + "'");
        assertThat(texts(pom, "artifactId")).startsWith("app", "jccl-bom");
        assertThat(texts(bom, "artifactId")).containsAll(texts(pom, "artifactId").subList(1, 3));
    }

    @Test
    void theProgramOfGettingStartedHasTheSumOnEachRank(@TempDir Path folder) throws Exception {
        Path source = Files.writeString(folder.resolve("App.java"), block("java"));
        String path = System.getProperty("java.class.path");
        assertThat(output("javac", "-cp", path, "-d", folder.toString(), source.toString()))
                .isEmpty();
        String output = output("java", "-cp", folder + File.pathSeparator + path, "App");
        assertThat(output.lines())
                .as(output)
                .filteredOn(line -> line.endsWith("sum 10.0"))
                .hasSize(4);
    }

    private static String output(String tool, String... arguments) throws Exception {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", tool).toString());
        command.addAll(List.of(arguments));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        try {
            String output =
                    new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            assertThat(process.waitFor()).as(output).isZero();
            return output;
        } finally {
            process.destroyForcibly();
        }
    }

    /** Those that users meet most, as the main code has them. */
    @Test
    void messagesCanBeLookedUp() throws IOException {
        String page = Files.readString(TREE.resolve("docs/errors.md"));
        String code = mainCode("java-api") + mainCode("run/store") + mainCode("engine");
        for (String message :
                List.of(
                        "no launcher recognised",
                        "does not say where the store is",
                        "Cannot connect to the store",
                        "did not join within",
                        "init method '",
                        "have not arrived",
                        "this operation has not completed",
                        "but the group was made for",
                        "no backend of the group takes the device",
                        "was not made by the static methods of Tensor",
                        "has no limit",
                        "buffer is on the heap",
                        "was never closed",
                        "the group failed before",
                        "overlap in memory",
                        "closed the group",
                        "belongs to run '",
                        "no binding for backend '",
                        "the store does not answer",
                        "RANK_TABLE_FILE",
                        "Too many open files",
                        "which cannot be a path")) {
            assertThat(code).as("main code").contains(message);
            assertThat(page).as("docs/errors.md").contains(message);
        }
    }

    private static String mainCode(String module) throws IOException {
        StringBuilder all = new StringBuilder();
        try (var files = Files.walk(TREE.resolve(module + "/src/main/java"))) {
            for (Path file : files.filter(Files::isRegularFile).toList()) {
                all.append(Files.readString(file));
            }
        }
        return all.toString();
    }

    @Test
    void aLinkToNowhereIsFound() throws IOException {
        Path page = TREE.resolve("docs/errors.md");
        assertThat(faults(page, "see [x](nowhere.md), `[y](code.md)`, [z](errors.md#no-such)"))
                .containsExactly(
                        "docs/errors.md: nowhere.md is not there",
                        "docs/errors.md: errors.md#no-such has no such heading");
        assertThat(faults(page, "[x](errors.md#results-on-devices) [y](https://host/)")).isEmpty();
    }
}
