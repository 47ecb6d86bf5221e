package org.jccl.cli.trace;

import com.fasterxml.jackson.core.JsonEncoding;
import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;
import java.nio.file.Path;

/** Writes recordings as one trace, with a process for each rank and a thread for each group. */
final class ChromeTrace implements AutoCloseable {

    private static final double NANOS_PER_MICRO = 1000;

    private final JsonGenerator json;
    private final long originNanos;
    private int threads;

    /** Times in the trace count from the origin, because times since 1970 would lose digits. */
    ChromeTrace(Path file, long originNanos) throws IOException {
        this.originNanos = originNanos;
        json = new JsonFactory().createGenerator(file.toFile(), JsonEncoding.UTF8);
        json.writeStartObject();
        json.writeStringField("displayTimeUnit", "ns");
        json.writeArrayFieldStart("traceEvents");
    }

    void add(Recording recording) throws IOException {
        name("process_name", recording.rank(), 0, "rank " + recording.rank());
        Tracks tracks = new Tracks();
        for (Recording.Span span : recording.spans()) {
            int known = tracks.count();
            int track = tracks.place(span);
            if (track == known) {
                String beside = track == 0 ? "" : " +" + track;
                name("thread_name", recording.rank(), threads + track, recording.group() + beside);
            }
            write(span, recording.rank(), threads + track);
        }
        if (!recording.failure().isEmpty()) {
            json.writeStartObject();
            json.writeStringField("ph", "i");
            json.writeStringField("s", "p");
            json.writeStringField("name", "failed");
            writePosition(recording.rank(), threads, recording.writtenNanos());
            json.writeObjectFieldStart("args");
            json.writeStringField("failure", recording.failure());
            json.writeEndObject();
            json.writeEndObject();
        }
        threads += Math.max(1, tracks.count());
    }

    private void write(Recording.Span span, int rank, int thread) throws IOException {
        json.writeStartObject();
        json.writeStringField("ph", "X");
        json.writeStringField(
                "name", span.completed() ? span.name() : span.name() + " not completed");
        writePosition(rank, thread, span.startNanos());
        json.writeNumberField("dur", (span.endNanos() - span.startNanos()) / NANOS_PER_MICRO);
        json.writeObjectFieldStart("args");
        json.writeNumberField("sequence", span.sequence());
        json.writeNumberField("bytes", span.bytes());
        json.writeStringField("state", span.state());
        json.writeEndObject();
        json.writeEndObject();
    }

    private void writePosition(int rank, int thread, long nanos) throws IOException {
        json.writeNumberField("pid", rank);
        json.writeNumberField("tid", thread);
        json.writeNumberField("ts", (nanos - originNanos) / NANOS_PER_MICRO);
    }

    private void name(String kind, int rank, int thread, String name) throws IOException {
        json.writeStartObject();
        json.writeStringField("ph", "M");
        json.writeStringField("name", kind);
        json.writeNumberField("pid", rank);
        json.writeNumberField("tid", thread);
        json.writeObjectFieldStart("args");
        json.writeStringField("name", name);
        json.writeEndObject();
        json.writeEndObject();
    }

    @Override
    public void close() throws IOException {
        json.close(); // ends the open array and object
    }
}
