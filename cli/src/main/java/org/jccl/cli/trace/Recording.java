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
import java.util.regex.Pattern;

/**
 * The recording of one rank and one group.
 *
 * @param rank in the world
 * @param group its name and backend
 * @param members the group's ranks in the world; empty if the file does not have them
 * @param writtenNanos when the file was written, since 1970
 * @param failure why the group failed, or an empty string
 * @param spans the operations, in the order they were issued
 * @param waits the times in which operations blocked threads of the program; empty if not recorded
 * @param onDevice whether operations run on a device's stream, where their beginning is not
 *     recorded
 */
record Recording(
        int rank,
        String group,
        List<Integer> members,
        long writtenNanos,
        String failure,
        List<Span> spans,
        List<Wait> waits,
        boolean onDevice) {

    /** The year 2116, so that differences and sums of times are never too large. */
    private static final long LATEST = Long.MAX_VALUE / 2;

    /**
     * One operation.
     *
     * @param name the operation's text
     * @param state scheduled, started or completed
     * @param collective whether all ranks of the group take part
     * @param sequence position among the group's collectives or messages
     * @param bytes size
     * @param startNanos when it was issued, since 1970
     * @param endNanos when its end was detected, or when the file was written
     */
    record Span(
            String name,
            String state,
            boolean collective,
            long sequence,
            long bytes,
            long startNanos,
            long endNanos) {

        boolean completed() {
            return state.equals("completed");
        }

        private Span shifted(long nanos) {
            return new Span(
                    name, state, collective, sequence, bytes, startNanos + nanos, endNanos + nanos);
        }
    }

    /**
     * A thread of the program that was blocked.
     *
     * @param thread its name
     * @param collective whether it was for a collective
     * @param sequence of the operation
     * @param startNanos since 1970
     * @param endNanos since 1970
     */
    record Wait(String thread, boolean collective, long sequence, long startNanos, long endNanos) {

        private Wait shifted(long nanos) {
            return new Wait(thread, collective, sequence, startNanos + nanos, endNanos + nanos);
        }
    }

    /** A copy with all times moved, for a rank whose clock is wrong. */
    Recording shifted(long nanos) {
        return new Recording(
                rank,
                group,
                members,
                writtenNanos + nanos,
                failure,
                spans.stream().map(each -> each.shifted(nanos)).toList(),
                waits.stream().map(each -> each.shifted(nanos)).toList(),
                onDevice);
    }

    static Recording read(Path file) throws IOException {
        try (JsonParser json = new JsonFactory().createParser(file.toFile())) {
            Map<String, String> top = new HashMap<>();
            List<Map<String, String>> entries = new ArrayList<>();
            List<Map<String, String>> waits = new ArrayList<>();
            expect(json, json.nextToken(), JsonToken.START_OBJECT);
            while (json.nextToken() == JsonToken.FIELD_NAME) {
                String field = json.currentName();
                JsonToken value = json.nextToken();
                if (field.equals("entries") || field.equals("waits")) {
                    expect(json, value, JsonToken.START_ARRAY);
                    while (json.nextToken() != JsonToken.END_ARRAY) {
                        (field.equals("waits") ? waits : entries).add(scalars(json));
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
            return of(top, entries, waits);
        }
    }

    private static void expect(JsonParser json, JsonToken found, JsonToken wanted)
            throws IOException {
        if (found != wanted) {
            throw none(found + " at line " + json.currentLocation().getLineNr());
        }
    }

    private static IOException none(String reason) {
        return new IOException("it is not a recording of JCCL: " + reason);
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

    private static Recording of(
            Map<String, String> top,
            List<Map<String, String>> entries,
            List<Map<String, String>> waits)
            throws IOException {
        long written = number(top, "time_written_ns", 0, LATEST);
        List<Span> spans = new ArrayList<>();
        for (Map<String, String> entry : entries) {
            long start = number(entry, "time_created_ns", 0, LATEST);
            String end = "time_discovered_completed_ns";
            spans.add(
                    new Span(
                            text(entry, "operation"),
                            text(entry, "state"),
                            isCollective(entry),
                            sequence(entry),
                            number(entry, "bytes", 0, Long.MAX_VALUE),
                            start,
                            entry.containsKey(end)
                                    ? number(entry, end, start, LATEST)
                                    : Math.max(start, written)));
        }
        List<Wait> blocked = new ArrayList<>();
        for (Map<String, String> wait : waits) {
            long start = number(wait, "time_began_ns", 0, LATEST);
            blocked.add(
                    new Wait(
                            text(wait, "thread_name"),
                            isCollective(wait),
                            sequence(wait),
                            start,
                            number(wait, "time_ended_ns", start, LATEST)));
        }
        return new Recording(
                (int) number(top, "rank", 0, Integer.MAX_VALUE),
                text(top, "group.name") + " (" + text(top, "group.desc") + ")",
                members(top.getOrDefault("group.ranks", "")),
                written,
                top.getOrDefault("failure", ""),
                spans,
                blocked,
                entries.stream().noneMatch(each -> each.containsKey("time_discovered_started_ns"))
                        && !entries.isEmpty());
    }

    private static List<Integer> members(String ranks) {
        return Pattern.compile("\\d{1,9}")
                .matcher(ranks)
                .results()
                .map(number -> Integer.valueOf(number.group()))
                .toList();
    }

    private static boolean isCollective(Map<String, String> fields) throws IOException {
        return number(fields, "collective_seq_id", -1, Long.MAX_VALUE) >= 0;
    }

    private static long sequence(Map<String, String> fields) throws IOException {
        String name = isCollective(fields) ? "collective_seq_id" : "p2p_seq_id";
        return number(fields, name, -1, Long.MAX_VALUE);
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
