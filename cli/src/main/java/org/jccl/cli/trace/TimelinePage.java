package org.jccl.cli.trace;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;
import java.io.InputStream;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;

/**
 * A timeline as one HTML file that loads no other file. Its content security policy only allows the
 * script whose hash the page contains. Recorded text is data in the page, never markup.
 */
final class TimelinePage {

    private static final double NANOS_PER_MILLI = 1e6;

    private final Timeline timeline;
    private final long origin;
    private final Map<String, Integer> names = new LinkedHashMap<>();
    private final Map<String, Integer> groups = new LinkedHashMap<>();
    private final Map<String, Map<Long, Integer>> collectives = new HashMap<>();
    private long end;

    private TimelinePage(Timeline timeline) {
        this.timeline = timeline;
        this.origin = timeline.originNanos();
        for (int i = 0; i < timeline.collectives().size(); i++) {
            TracedCollective each = timeline.collectives().get(i);
            collectives
                    .computeIfAbsent(each.group(), group -> new HashMap<>())
                    .put(each.sequence(), i);
        }
    }

    /**
     * Writes the page.
     *
     * @throws IOException if that fails
     */
    static void write(Timeline timeline, Path file) throws IOException {
        String script = script();
        String page =
                resource("timeline.html")
                        .replace("SCRIPT-HASH", "sha256-" + hash(script))
                        .replace("/*STYLE*/", resource("timeline.css"));
        // Positions are found before data is inserted, because recorded text may contain a marker.
        int scriptAt = page.indexOf("/*SCRIPT*/");
        int dataAt = page.indexOf("/*DATA*/");
        String data = new TimelinePage(timeline).data();
        Files.writeString(
                file,
                page.substring(0, dataAt)
                        + data
                        + page.substring(dataAt + "/*DATA*/".length(), scriptAt)
                        + script
                        + page.substring(scriptAt + "/*SCRIPT*/".length()));
    }

    /** The script in a block, so that its names do not collide with those of the browser. */
    private static String script() {
        return "\"use strict\";\n{\n"
                + resource("timeline-data.js")
                + resource("timeline-drawing.js")
                + resource("timeline-input.js")
                + resource("timeline-page.js")
                + "}\n";
    }

    private static String resource(String name) {
        try (InputStream in = TimelinePage.class.getResourceAsStream(name)) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String hash(String text) {
        try {
            byte[] digest =
                    MessageDigest.getInstance("SHA-256")
                            .digest(text.getBytes(StandardCharsets.UTF_8));
            return Base64.getEncoder().encodeToString(digest);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e); // every Java has it
        }
    }

    /** The data as JSON. A less-than sign only occurs in strings, where it is escaped. */
    private String data() throws IOException {
        StringWriter text = new StringWriter();
        try (JsonGenerator json = new JsonFactory().createGenerator(text)) {
            json.writeStartObject();
            json.writeNumberField("originMillis", origin / NANOS_PER_MILLI);
            writeTracks(json);
            writeCollectives(json);
            writeSteps(json);
            writeRanks(json);
            writeFailures(json);
            writeKeys(json, "names", names);
            writeKeys(json, "groups", groups);
            json.writeNumberField("end", end);
            json.writeEndObject();
        }
        return text.toString().replace("<", "\\u003c");
    }

    private static int index(Map<String, Integer> indexes, String text) {
        return indexes.computeIfAbsent(text, unknown -> indexes.size());
    }

    private static void writeKeys(JsonGenerator json, String field, Map<String, Integer> indexes)
            throws IOException {
        json.writeArrayFieldStart(field);
        for (String each : indexes.keySet()) {
            json.writeString(each);
        }
        json.writeEndArray();
    }

    private long time(long nanos) {
        end = Math.max(end, nanos - origin);
        return nanos - origin;
    }

    private int collective(String group, boolean isCollective, long sequence) {
        return isCollective
                ? collectives.getOrDefault(group, Map.of()).getOrDefault(sequence, -1)
                : -1;
    }

    private void writeTracks(JsonGenerator json) throws IOException {
        json.writeArrayFieldStart("tracks");
        for (RankSummary rank : timeline.ranks()) {
            List<Recording> own =
                    timeline.recordings().stream()
                            .filter(each -> each.rank() == rank.rank())
                            .toList();
            writeProgram(json, rank.rank(), own);
            for (Recording each : own) {
                writeGroup(json, each);
            }
        }
        json.writeEndArray();
    }

    /** Writes a track for each thread that was blocked. Between the waits, the program ran. */
    private void writeProgram(JsonGenerator json, int rank, List<Recording> own)
            throws IOException {
        Map<String, List<Recording.Wait>> threads = new LinkedHashMap<>();
        Map<Recording.Wait, String> groupOf = new HashMap<>();
        for (Recording recording : own) {
            for (Recording.Wait wait : recording.waits()) {
                threads.computeIfAbsent(wait.thread(), name -> new ArrayList<>()).add(wait);
                groupOf.put(wait, recording.group());
            }
        }
        for (Map.Entry<String, List<Recording.Wait>> thread : threads.entrySet()) {
            List<Recording.Wait> waits = thread.getValue();
            waits.sort((a, b) -> Long.compare(a.startNanos(), b.startNanos()));
            json.writeStartObject();
            json.writeNumberField("rank", rank);
            json.writeStringField("label", thread.getKey());
            json.writeBooleanField("program", true);
            json.writeArrayFieldStart("spans");
            for (Recording.Wait wait : waits) {
                String group = groupOf.get(wait);
                long start = time(wait.startNanos());
                writeNumbers(
                        json,
                        start,
                        time(wait.endNanos()) - start,
                        index(groups, group),
                        wait.sequence(),
                        collective(group, wait.collective(), wait.sequence()));
            }
            json.writeEndArray();
            json.writeEndObject();
        }
    }

    private void writeGroup(JsonGenerator json, Recording recording) throws IOException {
        Tracks tracks = new Tracks();
        List<List<Recording.Span>> spans = new ArrayList<>();
        for (Recording.Span span : recording.spans()) {
            int track = tracks.place(span);
            if (track == spans.size()) {
                spans.add(new ArrayList<>());
            }
            spans.get(track).add(span);
        }
        for (int track = 0; track < spans.size(); track++) {
            json.writeStartObject();
            json.writeNumberField("rank", recording.rank());
            json.writeStringField("label", recording.group() + (track == 0 ? "" : " +" + track));
            json.writeBooleanField("program", false);
            json.writeBooleanField("device", recording.onDevice());
            json.writeNumberField("group", index(groups, recording.group()));
            json.writeArrayFieldStart("spans");
            for (Recording.Span span : spans.get(track)) {
                long start = time(span.startNanos());
                writeNumbers(
                        json,
                        start,
                        time(span.endNanos()) - start,
                        index(names, span.name()),
                        span.sequence(),
                        span.bytes(),
                        span.completed() ? 1 : 0,
                        collective(recording.group(), span.collective(), span.sequence()));
            }
            json.writeEndArray();
            json.writeEndObject();
        }
    }

    private void writeCollectives(JsonGenerator json) throws IOException {
        json.writeArrayFieldStart("collectives");
        for (TracedCollective each : timeline.collectives()) {
            LongStream facts =
                    LongStream.of(
                            index(groups, each.group()),
                            each.sequence(),
                            index(names, each.name()),
                            time(each.firstNanos()),
                            time(each.lastNanos()),
                            each.lastRank(),
                            each.allWaitForLast() ? 1 : 0);
            LongStream missing = each.missing().stream().mapToLong(Integer::longValue);
            writeNumbers(json, LongStream.concat(facts, missing).toArray());
        }
        json.writeEndArray();
    }

    private void writeSteps(JsonGenerator json) throws IOException {
        json.writeArrayFieldStart("steps");
        for (Step each : timeline.steps()) {
            writeNumbers(
                    json,
                    time(each.startNanos()),
                    time(each.endNanos()),
                    each.collectives(),
                    each.slowest(),
                    each.waitedNanos());
        }
        json.writeEndArray();
    }

    private void writeRanks(JsonGenerator json) throws IOException {
        json.writeArrayFieldStart("ranks");
        for (RankSummary each : timeline.ranks()) {
            json.writeStartObject();
            json.writeNumberField("rank", each.rank());
            json.writeNumberField("operations", each.operations());
            json.writeNumberField("busy", each.busyNanos());
            json.writeNumberField("blocked", each.blockedKnown() ? each.blockedNanos() : -1);
            json.writeNumberField("waited", each.waitedNanos());
            json.writeNumberField("last", each.last());
            json.writeNumberField("waitedFor", each.waitedForNanos());
            json.writeNumberField("ahead", timeline.ahead().getOrDefault(each.rank(), 0L));
            json.writeEndObject();
        }
        json.writeEndArray();
    }

    private void writeFailures(JsonGenerator json) throws IOException {
        json.writeArrayFieldStart("failures");
        for (Recording each : timeline.recordings()) {
            if (!each.failure().isEmpty()) {
                json.writeStartObject();
                json.writeNumberField("rank", each.rank());
                json.writeStringField("group", each.group());
                json.writeNumberField("at", time(each.writtenNanos()));
                json.writeStringField("text", each.failure());
                json.writeEndObject();
            }
        }
        json.writeEndArray();
    }

    private static void writeNumbers(JsonGenerator json, long... numbers) throws IOException {
        json.writeArray(numbers, 0, numbers.length);
    }
}
