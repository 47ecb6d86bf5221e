package org.jccl.cli.ranktable;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.List;
import org.jccl.ranktable.RankEntry;
import org.jccl.ranktable.RankTable;

/** A table as text in columns, and as JSON that is the same for all formats. */
final class TableView {

    private TableView() {}

    static void writeText(RankTable table, PrintWriter out) {
        boolean superDevices =
                table.entries().stream().anyMatch(entry -> entry.superDevice().isPresent());
        boolean superPods =
                table.entries().stream().anyMatch(entry -> entry.superPod().isPresent());
        List<List<String>> lines = new ArrayList<>();
        List<String> header = new ArrayList<>(List.of("node", "device", "rank", "local rank"));
        addIf(superPods, "super pod", header);
        addIf(superDevices, "super device", header);
        header.add("ip");
        lines.add(header);
        for (int node = 0; node < table.nodeCount(); node++) {
            for (int rank : table.ranksOf(node)) {
                RankEntry entry = table.entry(rank);
                List<String> line = new ArrayList<>();
                line.add(
                        entry.nodeId().isEmpty() ? Integer.toString(entry.node()) : entry.nodeId());
                line.add(Integer.toString(entry.device()));
                line.add(Integer.toString(rank));
                line.add(Integer.toString(entry.localRank()));
                addIf(superPods, entry.superPod().orElse("-"), line);
                addIf(superDevices, superDevice(entry), line);
                line.add(entry.deviceIps().isEmpty() ? "-" : String.join(",", entry.deviceIps()));
                lines.add(line);
            }
        }
        out.println(table);
        align(lines).forEach(out::println);
    }

    private static void addIf(boolean wanted, String text, List<String> line) {
        if (wanted) {
            line.add(text);
        }
    }

    private static String superDevice(RankEntry entry) {
        return entry.superDevice().isPresent()
                ? Long.toString(entry.superDevice().getAsLong())
                : "-";
    }

    private static List<String> align(List<List<String>> lines) {
        int[] widths = new int[lines.get(0).size()];
        for (List<String> line : lines) {
            for (int i = 0; i < widths.length; i++) {
                widths[i] = Math.max(widths[i], line.get(i).length());
            }
        }
        List<String> aligned = new ArrayList<>();
        for (List<String> line : lines) {
            StringBuilder text = new StringBuilder();
            for (int i = 0; i < widths.length; i++) {
                text.append(line.get(i)).append(" ".repeat(widths[i] - line.get(i).length() + 2));
            }
            // A name may hold anything, also what would steer a terminal.
            aligned.add(text.toString().stripTrailing().replaceAll("\\p{Cntrl}", "?"));
        }
        return aligned;
    }

    static void writeJson(RankTable table, PrintWriter out) throws IOException {
        StringWriter text = new StringWriter();
        try (JsonGenerator json = new JsonFactory().createGenerator(text)) {
            json.useDefaultPrettyPrinter();
            json.writeStartObject();
            json.writeStringField("format", table.format().toString());
            json.writeNumberField("world_size", table.size());
            json.writeNumberField("nodes", table.nodeCount());
            json.writeArrayFieldStart("ranks");
            for (RankEntry entry : table.entries()) {
                write(entry, json);
            }
            json.writeEndArray();
            json.writeEndObject();
        }
        out.println(text);
    }

    private static void write(RankEntry entry, JsonGenerator json) throws IOException {
        json.writeStartObject();
        json.writeNumberField("rank", entry.rank());
        json.writeNumberField("node", entry.node());
        json.writeStringField("node_id", entry.nodeId());
        json.writeNumberField("local_rank", entry.localRank());
        json.writeNumberField("device", entry.device());
        json.writeArrayFieldStart("device_ips");
        for (String ip : entry.deviceIps()) {
            json.writeString(ip);
        }
        json.writeEndArray();
        if (entry.superDevice().isPresent()) {
            json.writeNumberField("super_device", entry.superDevice().getAsLong());
        }
        if (entry.superPod().isPresent()) {
            json.writeStringField("super_pod", entry.superPod().get());
        }
        json.writeEndObject();
    }
}
