package org.jccl.cli;

import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.constructor.SafeConstructor;

/**
 * A file of {@code examples/kubernetes}.
 *
 * @param objects what it declares
 */
record Manifest(List<Map<?, ?>> objects) {

    private static final Path FOLDER = Path.of("..", "examples", "kubernetes");

    static List<String> names() throws IOException {
        try (Stream<Path> files = Files.list(FOLDER)) {
            return files.map(file -> file.getFileName().toString())
                    .filter(name -> name.endsWith(".yaml"))
                    .sorted()
                    .toList();
        }
    }

    static Manifest read(String name) throws IOException {
        LoaderOptions options = new LoaderOptions();
        options.setAllowDuplicateKeys(false);
        List<Map<?, ?>> objects = new ArrayList<>();
        try (Reader text = Files.newBufferedReader(FOLDER.resolve(name))) {
            for (Object each : new Yaml(new SafeConstructor(options)).loadAll(text)) {
                objects.add((Map<?, ?>) each);
            }
        }
        return new Manifest(objects);
    }

    /** Whatever has these fields, at any depth. */
    List<Map<?, ?>> having(String... fields) {
        List<Map<?, ?>> found = new ArrayList<>();
        objects.forEach(object -> collect(object, List.of(fields), found));
        return found;
    }

    private static void collect(Object value, List<String> fields, List<Map<?, ?>> found) {
        if (value instanceof Map<?, ?> map) {
            if (map.keySet().containsAll(fields)) {
                found.add(map);
            }
            map.values().forEach(each -> collect(each, fields, found));
        } else if (value instanceof List<?> list) {
            list.forEach(each -> collect(each, fields, found));
        }
    }

    /** The arguments of {@code jccl run} or torchrun before the program's. */
    List<String> options() {
        List<String> words = words(having("image", "args").get(0).get("args"));
        return words.contains("--")
                ? words.subList(1, words.indexOf("--"))
                : words.subList(0, words.indexOf("--no-python"));
    }

    static List<String> words(Object list) {
        return ((List<?>) list).stream().map(String::valueOf).toList();
    }

    /** The variables of its first container, in a pod with a number. */
    Map<String, String> variables(String number) {
        Map<String, String> variables = new HashMap<>();
        Object all = having("image", "args").get(0).get("env");
        for (Object each : all == null ? List.of() : (List<?>) all) {
            Map<?, ?> variable = (Map<?, ?>) each;
            Object value = variable.get("value");
            boolean isIndex = variable.toString().contains("job-completion-index");
            if (value != null || isIndex) {
                variables.put(variable.get("name").toString(), isIndex ? number : value.toString());
            }
        }
        return variables;
    }
}
