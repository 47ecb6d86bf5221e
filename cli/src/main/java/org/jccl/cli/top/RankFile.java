package org.jccl.cli.top;

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
 * The last file of a rank.
 *
 * @param rank in the world
 * @param size of the world
 * @param host its name
 * @param pid the id of its process there
 * @param processStartedMillis when the process started, since 1970, or 0
 * @param writtenMillis when the file was written, since 1970
 * @param intervalMillis the time between two files
 * @param ended whether it has closed its world
 * @param failure why a group failed that is closed by now, or an empty string
 * @param operationsPerSecond the recent rate
 * @param bytesPerSecond the recent rate
 * @param groups its open groups
 */
record RankFile(
        int rank,
        int size,
        String host,
        long pid,
        long processStartedMillis,
        long writtenMillis,
        long intervalMillis,
        boolean ended,
        String failure,
        double operationsPerSecond,
        double bytesPerSecond,
        List<Group> groups) {

    /**
     * One of its groups.
     *
     * @param name of the group and the backend
     * @param started sequence of the newest collective that started, or -1
     * @param running the oldest operation that runs, or an empty string
     * @param runningSequence its position if it is a collective, or -1
     * @param runningMillis how long it had run when the file was written
     * @param failure why the group failed, or an empty string
     */
    record Group(
            String name,
            long started,
            String running,
            long runningSequence,
            long runningMillis,
            String failure) {}

    private static final int MOST_RANKS = 1 << 20;

    /**
     * Reads a file.
     *
     * @param file a file of {@code JCCL_MONITOR_DIR}
     * @return its content
     * @throws IOException if it cannot be read, or is no such file
     */
    static RankFile read(Path file) throws IOException {
        Map<String, String> top = new HashMap<>();
        List<Group> groups = new ArrayList<>();
        try (JsonParser json = new JsonFactory().createParser(file.toFile())) {
            if (json.nextToken() != JsonToken.START_OBJECT) {
                throw new IOException("it is not an object");
            }
            while (json.nextToken() == JsonToken.FIELD_NAME) {
                String name = json.currentName();
                JsonToken value = json.nextToken();
                if (name.equals("groups") && value == JsonToken.START_ARRAY) {
                    while (json.nextToken() == JsonToken.START_OBJECT) {
                        groups.add(group(scalars(json)));
                    }
                } else if (value.isScalarValue()) {
                    top.put(name, json.getText());
                } else {
                    json.skipChildren();
                }
            }
        }
        if (!top.getOrDefault("version", "").startsWith("jccl monitor ")) {
            throw new IOException("it is not from a rank that is monitored");
        }
        try {
            return of(top, groups);
        } catch (NumberFormatException e) {
            throw new IOException("a number is not valid: " + e.getMessage(), e);
        }
    }

    private static RankFile of(Map<String, String> top, List<Group> groups) throws IOException {
        RankFile file =
                new RankFile(
                        (int) number(top, "rank"),
                        (int) number(top, "size"),
                        top.getOrDefault("host", ""),
                        number(top, "pid"),
                        number(top, "process_started_ms"),
                        number(top, "time_ms"),
                        number(top, "interval_ms"),
                        Boolean.parseBoolean(top.get("ended")),
                        top.getOrDefault("failure", ""),
                        Double.parseDouble(top.getOrDefault("operations_per_second", "0")),
                        Double.parseDouble(top.getOrDefault("bytes_per_second", "0")),
                        groups);
        if (file.rank < 0 || file.rank >= file.size || file.size > MOST_RANKS) {
            throw new IOException("rank " + file.rank + " of " + file.size + " is none");
        }
        return file;
    }

    private static Group group(Map<String, String> fields) throws IOException {
        try {
            return new Group(
                    fields.getOrDefault("name", "") + " " + fields.getOrDefault("backend", ""),
                    number(fields, "started"),
                    fields.getOrDefault("running", ""),
                    fields.containsKey("running") ? number(fields, "running_sequence") : -1,
                    fields.containsKey("running") ? number(fields, "running_ms") : 0,
                    fields.getOrDefault("failure", ""));
        } catch (NumberFormatException e) {
            throw new IOException("a number is not valid: " + e.getMessage(), e);
        }
    }

    private static long number(Map<String, String> fields, String name) throws IOException {
        String text = fields.get(name);
        if (text == null) {
            throw new IOException(name + " is missing");
        }
        return Long.parseLong(text);
    }

    /** The scalar fields of the object at the parser. */
    private static Map<String, String> scalars(JsonParser json) throws IOException {
        Map<String, String> fields = new HashMap<>();
        while (json.nextToken() == JsonToken.FIELD_NAME) {
            String name = json.currentName();
            if (json.nextToken().isScalarValue()) {
                fields.put(name, json.getText());
            } else {
                json.skipChildren();
            }
        }
        return fields;
    }
}
