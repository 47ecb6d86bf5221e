package org.jccl.ranktable;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.function.UnaryOperator;
import org.jccl.ranktable.json.Json;
import org.jccl.ranktable.json.JsonReader;
import org.jccl.ranktable.json.JsonWriter;

/**
 * Tables with one change each, and what Huawei's own parsers and checks say of them: hcomm 8958adb
 * of August 2026, unchanged, for four chips.
 *
 * <p>A line of {@code hccl-answers.txt} is a place in a table, and for each change there a digit:
 * the sum of 1 if Ascend 910 refuses the table, 2 for Atlas A2 and 4 for A3; of 2.0, 8 for Ascend
 * 950. {@code main} writes the tables for whoever asks another version.
 */
final class HcclAnswers {

    static final List<String> TABLES =
            List.of(
                    "one-server",
                    "two-servers",
                    "no-addresses",
                    "host-addresses",
                    "uneven",
                    "one-pod",
                    "two-pods",
                    "pod-without-addresses",
                    "lab",
                    "layers",
                    "shared-port");

    private static final String ANSWERS = "hccl-answers.txt";

    private static final List<Json> VALUES = values();

    private HcclAnswers() {}

    /** A table, and which chips refuse it. */
    record Case(String table, String place, String change, String text) {

        @Override
        public String toString() {
            return table + " " + place + " " + change;
        }
    }

    private static List<Json> values() {
        List<Json> values = new ArrayList<>();
        for (String word : List.of("null", "true")) {
            values.add(new Json.Word(word, Json.Position.NONE));
        }
        values.add(new Json.Array(List.of()));
        values.add(new Json.Obj(Map.of()));
        for (String number :
                List.of("0", "1", "2", "7", "8", "15", "16", "64", "65", "-1", "1.5")) {
            values.add(new Json.Num(number, Json.Position.NONE));
            values.add(new Json.Text(number));
        }
        for (String text :
                List.of(
                        "",
                        " ",
                        "x",
                        "+1",
                        "01",
                        " 1",
                        "1 ",
                        "1.0",
                        "1.2",
                        "2.0",
                        "65535",
                        "65536",
                        "4294967295",
                        "4294967296",
                        "10.0.0.1",
                        "10.1.0.9",
                        "10.1.0.256",
                        "10.1.0.9,10.1.0.10",
                        "10.1.0.9,",
                        "fd00::9",
                        "completed",
                        "host",
                        "1DMESH",
                        "CLOS",
                        "EID",
                        "IPV4",
                        "n".repeat(65))) {
            values.add(new Json.Text(text));
        }
        return values;
    }

    /** All tables of a form, the unchanged one first. */
    static List<Case> cases(String table) {
        Json root = JsonReader.read(resource(table + ".json"), fault -> {}).orElseThrow();
        List<Case> cases = new ArrayList<>();
        cases.add(new Case(table, "$", "unchanged", JsonWriter.write(root)));
        change("$", root, table, changed -> changed, cases);
        return cases;
    }

    /** Changes what is in a value; {@code whole} puts a changed value into its table. */
    private static void change(
            String place, Json value, String table, UnaryOperator<Json> whole, List<Case> cases) {
        if (value instanceof Json.Obj object) {
            object.fields()
                    .forEach(
                            (name, each) -> {
                                String at = place + "." + name;
                                UnaryOperator<Json> put =
                                        changed -> whole.apply(with(object, name, changed));
                                cases.add(
                                        new Case(
                                                table,
                                                at,
                                                "left out",
                                                JsonWriter.write(put.apply(null))));
                                replace(at, each, table, put, cases);
                                change(at, each, table, put, cases);
                            });
        } else if (value instanceof Json.Array array) {
            for (int i = 0; i < array.items().size(); i++) {
                int index = i;
                String at = place + "[" + i + "]";
                cases.add(
                        new Case(
                                table,
                                at,
                                "left out",
                                JsonWriter.write(whole.apply(with(array, index)))));
                Json item = array.items().get(i);
                cases.add(
                        new Case(
                                table,
                                at,
                                "twice",
                                JsonWriter.write(whole.apply(with(array, index, item, item)))));
                UnaryOperator<Json> put = changed -> whole.apply(with(array, index, changed));
                replace(at, item, table, put, cases);
                change(at, item, table, put, cases);
            }
        }
    }

    private static void replace(
            String place, Json old, String table, UnaryOperator<Json> put, List<Case> cases) {
        for (Json value : VALUES) {
            cases.add(
                    new Case(
                            table,
                            place,
                            old.describe() + " to " + value.describe(),
                            JsonWriter.write(put.apply(value))));
        }
    }

    private static Json with(Json.Obj object, String name, Json value) {
        Map<String, Json> fields = new LinkedHashMap<>(object.fields());
        if (value == null) {
            fields.remove(name);
        } else {
            fields.put(name, value);
        }
        return new Json.Obj(fields);
    }

    private static Json with(Json.Array array, int index, Json... values) {
        List<Json> items = new ArrayList<>(array.items());
        items.remove(index);
        items.addAll(index, List.of(values));
        return new Json.Array(items);
    }

    /** The answers to {@link #cases}, in their order. */
    static List<Integer> answers(String table) {
        Map<String, List<Integer>> answers = new TreeMap<>();
        for (String line : resource(ANSWERS).split("\n")) {
            String[] parts = line.split(" ");
            if (parts.length == 3) {
                parts[2].chars()
                        .map(digit -> Character.digit(digit, 16))
                        .forEach(
                                each ->
                                        answers.computeIfAbsent(parts[0], key -> new ArrayList<>())
                                                .add(each));
            }
        }
        return answers.get(table);
    }

    private static String resource(String name) {
        try (BufferedReader reader =
                new BufferedReader(
                        new InputStreamReader(
                                Objects.requireNonNull(
                                        HcclAnswers.class.getResourceAsStream("hccl/" + name),
                                        name),
                                StandardCharsets.UTF_8))) {
            StringBuilder text = new StringBuilder();
            reader.lines().forEach(line -> text.append(line).append('\n'));
            return text.toString();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Writes each table to a file of its own below a folder, and the list of them. */
    public static void main(String[] arguments) throws IOException {
        Path folder = Path.of(arguments[0]);
        StringBuilder list = new StringBuilder();
        for (String table : TABLES) {
            List<Case> cases = cases(table);
            for (int i = 0; i < cases.size(); i++) {
                String name = table + "-" + i + ".json";
                Files.writeString(folder.resolve(name), cases.get(i).text());
                list.append(name).append(' ').append(cases.get(i).place()).append('\n');
            }
        }
        Files.writeString(folder.resolve("list.txt"), list);
    }
}
