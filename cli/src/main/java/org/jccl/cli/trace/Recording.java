package org.jccl.cli.trace;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * What one rank recorded of one group.
 *
 * @param rank in the world
 * @param group its name and backend
 * @param writtenNanos when the file was written, since 1970
 * @param failure why the group failed, or an empty string
 * @param spans the operations, in the order they were issued
 */
record Recording(int rank, String group, long writtenNanos, String failure, List<Span> spans) {

    /**
     * One operation.
     *
     * @param name the operation's text
     * @param state scheduled, started or completed
     * @param sequence position among the group's collectives or messages
     * @param bytes size
     * @param startNanos when it was issued, since 1970
     * @param endNanos when its end was noticed, or when the file was written
     */
    record Span(
            String name, String state, long sequence, long bytes, long startNanos, long endNanos) {}

    static Recording read(Path file) throws IOException {
        try (JsonParser json = new JsonFactory().createParser(file.toFile())) {
            Map<String, String> top = new HashMap<>();
            List<Map<String, String>> entries = new ArrayList<>();
            expect(json, json.nextToken(), JsonToken.START_OBJECT);
            while (json.nextToken() == JsonToken.FIELD_NAME) {
                String field = json.currentName();
                JsonToken value = json.nextToken();
                if (field.equals("entries")) {
                    expect(json, value, JsonToken.START_ARRAY);
                    while (json.nextToken() != JsonToken.END_ARRAY) {
                        entries.add(scalars(json));
                    }
                } else if (field.equals("pg_config")) {
                    expect(json, value, JsonToken.START_OBJECT);
                    while (json.nextToken() == JsonToken.FIELD_NAME) {
                        json.nextToken();
                        scalars(json).forEach((name, text) -> top.put("group." + name, text));
                    }
                } else if (value.isScalarValue()) {
                    top.put(field, json.getText());
                } else {
                    json.skipChildren();
                }
            }
            expect(json, json.nextToken(), null);
            return of(top, entries);
        }
    }

    private static void expect(JsonParser json, JsonToken found, JsonToken wanted)
            throws IOException {
        if (found != wanted) {
            throw none(found + " at line " + json.currentLocation().getLineNr());
        }
    }

    private static IOException none(String reason) {
        return new IOException("it is no recording of JCCL: " + reason);
    }

    /** The simple fields of the object that the parser is in. */
    private static Map<String, String> scalars(JsonParser json) throws IOException {
        expect(json, json.currentToken(), JsonToken.START_OBJECT);
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

    private static Recording of(Map<String, String> top, List<Map<String, String>> entries)
            throws IOException {
        long written = number(top, "time_written_ns", 0, Long.MAX_VALUE);
        List<Span> spans = new ArrayList<>();
        for (Map<String, String> entry : entries) {
            long collective = number(entry, "collective_seq_id", -1, Long.MAX_VALUE);
            long start = number(entry, "time_created_ns", 0, Long.MAX_VALUE);
            String end = "time_discovered_completed_ns";
            spans.add(
                    new Span(
                            text(entry, "operation"),
                            text(entry, "state"),
                            collective >= 0
                                    ? collective
                                    : number(entry, "p2p_seq_id", -1, Long.MAX_VALUE),
                            number(entry, "bytes", 0, Long.MAX_VALUE),
                            start,
                            entry.containsKey(end)
                                    ? number(entry, end, start, Long.MAX_VALUE)
                                    : Math.max(start, written)));
        }
        return new Recording(
                (int) number(top, "rank", 0, Integer.MAX_VALUE),
                text(top, "group.name") + " (" + text(top, "group.desc") + ")",
                written,
                top.getOrDefault("failure", ""),
                spans);
    }

    private static String text(Map<String, String> fields, String name) throws IOException {
        String text = fields.get(name);
        if (text == null) {
            throw none("there is no " + name);
        }
        return text;
    }

    private static long number(Map<String, String> fields, String name, long least, long most)
            throws IOException {
        String text = text(fields, name);
        try {
            long number = Long.parseLong(text);
            if (number >= least && number <= most) {
                return number;
            }
        } catch (NumberFormatException notANumber) {
            // Reported below, as a number out of range is.
        }
        throw none(name + " is " + text);
    }
}
