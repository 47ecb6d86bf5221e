package org.jccl.cli.bench;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.nio.charset.MalformedInputException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Reads a file that {@code jccl bench} wrote with {@code --json} or {@code --csv}. */
final class ReportFile {

    private final Path file;
    private final String source;
    private final boolean named;

    private ReportFile(Path file, String source, boolean named) {
        this.file = file;
        this.source = source;
        this.named = named;
    }

    /**
     * Reads a file.
     *
     * @param file a file of either kind; its first character decides which
     * @param source the name of its curves
     * @param named whether the user gave that name
     * @throws IOException if it cannot be read, or is of neither kind
     */
    static List<Measurement> read(Path file, String source, boolean named) throws IOException {
        String text;
        try {
            text = Files.readString(file);
        } catch (MalformedInputException e) {
            throw new IOException(file + " is not a file of jccl bench: it is not text", e);
        }
        ReportFile report = new ReportFile(file, source, named);
        List<Measurement> measurements =
                text.stripLeading().startsWith("{") ? report.json(text) : report.csv(text);
        if (measurements.isEmpty()) {
            throw report.wrong("it has no results");
        }
        return measurements;
    }

    private List<Measurement> csv(String text) throws IOException {
        List<String> lines = text.lines().toList();
        List<String> header = lines.isEmpty() ? List.of() : Arrays.asList(lines.get(0).split(","));
        if (!header.containsAll(List.of("backend", "op", "bytes", "median_us", "busbw_GBps"))) {
            throw wrong("its first line is not that of --csv, nor is it JSON");
        }
        List<Measurement> measurements = new ArrayList<>();
        for (int line = 1; line < lines.size(); line++) {
            String[] values = lines.get(line).split(",");
            if (values.length != header.size()) {
                throw wrong("line " + (line + 1) + " has " + values.length + " columns");
            }
            Map<String, String> fields = new HashMap<>();
            for (int i = 0; i < values.length; i++) {
                fields.put(header.get(i), values[i]);
            }
            measurements.add(measurement(fields, fields.get("backend")));
        }
        return measurements;
    }

    private List<Measurement> json(String text) throws IOException {
        String backend = null;
        List<Map<String, String>> results = new ArrayList<>();
        try (JsonParser json = new JsonFactory().createParser(text)) {
            json.nextToken();
            while (json.nextToken() == JsonToken.FIELD_NAME) {
                String field = json.currentName();
                JsonToken value = json.nextToken();
                if (field.equals("backend") && value == JsonToken.START_OBJECT) {
                    backend = scalars(json).get("name");
                } else if (field.equals("results") && value == JsonToken.START_ARRAY) {
                    while (json.nextToken() == JsonToken.START_OBJECT) {
                        results.add(scalars(json));
                    }
                } else {
                    json.skipChildren();
                }
            }
        } catch (JsonProcessingException e) {
            throw new IOException(
                    file + " is not a file of jccl bench: " + e.getOriginalMessage(), e);
        }
        if (backend == null) {
            throw wrong("it names no backend");
        }
        // If an operation has two forms, the first one is also that of CSV.
        Set<List<String>> seen = new HashSet<>();
        List<Measurement> measurements = new ArrayList<>();
        for (Map<String, String> result : results) {
            if (seen.add(
                    Arrays.asList(result.get("op"), result.get("bytes"), result.get("dtype")))) {
                measurements.add(measurement(result, backend));
            }
        }
        return measurements;
    }

    private static Map<String, String> scalars(JsonParser json) throws IOException {
        Map<String, String> fields = new HashMap<>();
        while (json.nextToken() == JsonToken.FIELD_NAME) {
            String field = json.currentName();
            if (json.nextToken().isScalarValue()) {
                fields.put(field, json.getText());
            } else {
                json.skipChildren();
            }
        }
        return fields;
    }

    private Measurement measurement(Map<String, String> fields, String backend) throws IOException {
        return new Measurement(
                source,
                named,
                backend,
                text(fields, "op"),
                text(fields, "dtype"),
                (int) number(fields, "ranks"),
                (long) number(fields, "bytes"),
                number(fields, "median_us"),
                number(fields, "busbw_GBps"),
                (long) number(fields, "wrong"));
    }

    private String text(Map<String, String> fields, String name) throws IOException {
        String text = fields.get(name);
        if (text == null) {
            throw wrong("a result has no " + name);
        }
        return text;
    }

    private double number(Map<String, String> fields, String name) throws IOException {
        String text = text(fields, name);
        try {
            double number = Double.parseDouble(text);
            if (number >= 0 && number < 1e18) {
                return number;
            }
        } catch (NumberFormatException e) {
            // Reported below, as a number out of range is.
        }
        throw wrong(name + " is '" + text + "'");
    }

    private IOException wrong(String reason) {
        return new IOException(file + " is not a file of jccl bench: " + reason);
    }
}
