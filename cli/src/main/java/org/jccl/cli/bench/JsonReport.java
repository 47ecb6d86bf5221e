package org.jccl.cli.bench;

import com.fasterxml.jackson.core.JsonEncoding;
import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import org.jccl.cli.bench.Collective.Placement;

/** Writes all forms of all rows, and the versions and the machine of the measurement. */
final class JsonReport implements Report {

    private final Path file;
    private final JsonGenerator json;

    JsonReport(Path file, Setting setting) throws IOException {
        this.file = file;
        json =
                new JsonFactory()
                        .createGenerator(file.toFile(), JsonEncoding.UTF8)
                        .useDefaultPrettyPrinter();
        json.writeStartObject();
        json.writeObjectFieldStart("host");
        for (Map.Entry<String, Object> fact : setting.host().facts().entrySet()) {
            json.writePOJOField(fact.getKey(), fact.getValue());
        }
        json.writeEndObject();
        json.writeObjectFieldStart("backend");
        json.writeStringField("name", setting.backend());
        json.writeStringField("version", setting.library().version());
        json.writeStringField("path", setting.library().path());
        json.writeEndObject();
        json.writeStringField("mode", setting.options().mode().toString());
        json.writeStringField("time", "wall time of one call on rank 0");
        json.writeArrayFieldStart("devices");
        for (String device : setting.devices()) {
            json.writeString(device);
        }
        json.writeEndArray();
        json.writeArrayFieldStart("results");
    }

    @Override
    public void row(Row row) {
        try {
            for (Map.Entry<Placement, Row.Result> entry : row.results().entrySet()) {
                write(row, entry.getKey(), entry.getValue());
            }
        } catch (IOException e) {
            throw failed(e);
        }
    }

    private void write(Row row, Placement placement, Row.Result result) throws IOException {
        Stopwatch.Timing timing = result.timing();
        json.writeStartObject();
        json.writeStringField("op", row.collective().toString());
        json.writeStringField("placement", placement.toString());
        json.writeStringField("dtype", row.type().map(Object::toString).orElse("none"));
        json.writeStringField("redop", row.op().orElse("none"));
        json.writeNumberField("root", row.root());
        json.writeNumberField("ranks", row.ranks());
        json.writeNumberField("bytes", row.bytes());
        json.writeNumberField("count", row.count());
        json.writeNumberField("iters", timing.iterations());
        json.writeNumberField("median_us", timing.medianMicros());
        json.writeNumberField("p99_us", timing.p99Micros());
        json.writeNumberField("algbw_GBps", row.algorithmBandwidth(result));
        json.writeNumberField("busbw_GBps", row.busBandwidth(result));
        json.writeNumberField("alloc_bytes_per_op", timing.allocatedBytes());
        json.writeNumberField("wrong", result.wrong());
        json.writeEndObject();
    }

    @Override
    public void close() {
        try {
            json.close(); // ends the open array and object
        } catch (IOException e) {
            throw failed(e);
        }
    }

    private ReportException failed(IOException cause) {
        return new ReportException("cannot write to " + file + ": " + cause.getMessage(), cause);
    }
}
