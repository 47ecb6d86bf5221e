package org.jccl.testing;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Reads lists of words from C++ sources of this project, so that tests can compare Java's. */
public final class NativeWords {

    private static final Pattern COMMENT = Pattern.compile("//[^\n]*");
    private static final Pattern ENUMERATOR = Pattern.compile("k([A-Za-z0-9]+)");
    private static final Pattern WORD_BEGIN = Pattern.compile("(?<=.)(?=\\p{Upper})");

    private final Path file;
    private final String text;

    private NativeWords(Path file, String text) {
        this.file = file;
        this.text = text;
    }

    /**
     * Reads a file.
     *
     * @param path its place below {@code native}
     * @return what it says
     */
    public static NativeWords of(String path) {
        Path file = Path.of("..", "native").resolve(path);
        try {
            return new NativeWords(file, COMMENT.matcher(Files.readString(file)).replaceAll(""));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * The words of an enum in their order, as Java writes them: {@code ALL_REDUCE} for {@code
     * kAllReduce}. They have no numbers in the source, so the first one is 0.
     *
     * @param name of the enum
     * @return the words
     */
    public List<String> ofEnum(String name) {
        List<String> words = new ArrayList<>();
        for (String each : between("enum " + name + " : int \\{([^}]*)\\}").split(",")) {
            if (!each.isBlank()) {
                Matcher enumerator = ENUMERATOR.matcher(each.strip());
                if (!enumerator.matches()) {
                    throw new IllegalStateException(file + ": '" + each + "' in enum " + name);
                }
                words.add(
                        WORD_BEGIN
                                .matcher(enumerator.group(1))
                                .replaceAll("_")
                                .toUpperCase(Locale.ROOT));
            }
        }
        return words;
    }

    /**
     * The numbers of an array.
     *
     * @param name of the array
     * @return the numbers in their order
     */
    public List<Integer> ofArray(String name) {
        List<Integer> numbers = new ArrayList<>();
        for (String each : between(name + "\\[\\] = \\{([^}]*)\\}").split(",")) {
            numbers.add(Integer.valueOf(each.strip()));
        }
        return numbers;
    }

    private String between(String pattern) {
        Matcher found = Pattern.compile(pattern).matcher(text);
        if (!found.find()) {
            throw new IllegalStateException(file + " has no " + pattern);
        }
        return found.group(1);
    }
}
