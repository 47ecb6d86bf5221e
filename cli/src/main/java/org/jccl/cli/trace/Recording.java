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
                    while (json.nextToken() == JsonToken.START_OBJECT) {
                        entries.add(scalars(json));
                    }
                } else if (value.isScalarValue()) {
                    top.put(field, json.getText());
                } else if (field.equals("pg_config")) {
                    json.nextToken();
                    json.nextToken();
                    scalars(json).forEach((name, text) -> top.put("group." + name, text));
                    json.nextToken();
                } else {
                    json.skipChildren();
                }
            }
            return of(top, entries);
        } catch (NumberFormatException e) {
            throw new IOException("it is no recording of JCCL: " + e.getMessage(), e);
        }
    }

    private static void expect(JsonParser json, JsonToken found, JsonToken wanted)
            throws IOException {
        if (found != wanted) {
            throw new IOException(
                    "it is no recording of JCCL: "
                            + found
                            + " at line "
                            + json.currentLocation().getLineNr());
        }
    }

    /** The simple fields of the object that the parser is in. */
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

    private static Recording of(Map<String, String> top, List<Map<String, String>> entries) {
        long written = Long.parseLong(top.get("time_written_ns"));
        List<Span> spans = new ArrayList<>();
        for (Map<String, String> entry : entries) {
            String end = entry.get("time_discovered_completed_ns");
            long collective = Long.parseLong(entry.get("collective_seq_id"));
            spans.add(
                    new Span(
                            entry.get("operation"),
                            entry.get("state"),
                            collective >= 0 ? collective : Long.parseLong(entry.get("p2p_seq_id")),
                            Long.parseLong(entry.get("bytes")),
                            Long.parseLong(entry.get("time_created_ns")),
                            end == null ? written : Long.parseLong(end)));
        }
        return new Recording(
                Integer.parseInt(top.get("rank")),
                top.get("group.name") + " (" + top.get("group.desc") + ")",
                written,
                top.getOrDefault("failure", ""),
                spans);
    }
}
