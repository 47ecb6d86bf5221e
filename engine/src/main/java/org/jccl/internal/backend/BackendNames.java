package org.jccl.internal.backend;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.TreeSet;

/** Names of backends, for the message about a missing one. */
final class BackendNames {

    private static final int MOST_EDITS = 2;

    private BackendNames() {}

    /** Returns the backends of this project, each of which is the artifact {@code jccl-NAME}. */
    static List<String> published() {
        try (InputStream in = BackendNames.class.getResourceAsStream("published")) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8).lines().toList();
        } catch (IOException e) {
            throw new UncheckedIOException("the jar's list of backends cannot be read", e);
        }
    }

    /**
     * Explains why a backend was not found, and what to do.
     *
     * @param name the requested name
     * @param present the backends on the class path
     */
    static String notFound(String name, List<String> present) {
        String text =
                "no binding for backend '" + name + "' is on the class path; found " + present;
        List<String> published = published();
        if (published.contains(name)) {
            return "%s; add the dependency org.jccl:jccl-%s. In a jar made of several, merge the files of the same name in META-INF/services"
                    .formatted(text, name);
        }
        TreeSet<String> all = new TreeSet<>(published);
        all.addAll(present);
        List<String> near = near(name, all);
        return "%s; %sJCCL has %s, and a backend of another project needs its jar on the class path"
                .formatted(
                        text,
                        near.isEmpty()
                                ? ""
                                : "did you mean '" + String.join("' or '", near) + "'? ",
                        published);
    }

    /** Returns the known names with the smallest edit distance, if it is small. */
    private static List<String> near(String name, Collection<String> names) {
        String wanted = name.strip().toLowerCase(Locale.ROOT);
        int fewest =
                names.stream()
                        .mapToInt(each -> edits(wanted, each))
                        .min()
                        .orElse(Integer.MAX_VALUE);
        return names.stream()
                .filter(each -> edits(wanted, each) == fewest)
                .filter(each -> fewest <= MOST_EDITS)
                .filter(each -> 2 * fewest <= Math.max(wanted.length(), each.length()))
                .toList();
    }

    /** Returns how many characters must be added, removed or replaced. */
    private static int edits(String from, String to) {
        int[] above = new int[to.length() + 1];
        for (int j = 0; j <= to.length(); j++) {
            above[j] = j;
        }
        for (int i = 1; i <= from.length(); i++) {
            int[] row = new int[to.length() + 1];
            row[0] = i;
            for (int j = 1; j <= to.length(); j++) {
                int replaced = above[j - 1] + (from.charAt(i - 1) == to.charAt(j - 1) ? 0 : 1);
                row[j] = Math.min(replaced, 1 + Math.min(above[j], row[j - 1]));
            }
            above = row;
        }
        return above[to.length()];
    }
}
