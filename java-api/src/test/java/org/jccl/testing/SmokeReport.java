package org.jccl.testing;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Makes report.md and report.json of the hardware smoke test from what its steps left: a line
 * {@code name code seconds} each in steps.txt, the output in name.log, and in bandwidth.csv what
 * {@code jccl bench} measured.
 */
final class SmokeReport {

    /** Exit code of a step that says it cannot run here. */
    private static final int SKIPPED = 77;

    /** Stands for a step that was not started, because the time for all steps was over. */
    private static final int NOT_STARTED = 76;

    private record Step(String name, int code, int seconds, String output) {

        String state() {
            return switch (code) {
                case 0 -> "passed";
                case SKIPPED -> "skipped";
                case NOT_STARTED -> "not started: the time was over";
                case 124, 137 -> "timed out";
                default -> "failed with exit code " + code;
            };
        }

        boolean isFailure() {
            return code != 0 && code != SKIPPED && code != NOT_STARTED;
        }
    }

    private SmokeReport() {}

    /**
     * Writes the report and prints the verdict.
     *
     * @param arguments the folder, the name of the library, and what devices the machine has and
     *     how they are linked, or {@code none}
     * @throws IOException when the folder cannot be read or written
     */
    public static void main(String[] arguments) throws IOException {
        Path folder = Path.of(arguments[0]);
        String library = arguments[1];
        String devices = arguments[2];
        List<Step> steps = new ArrayList<>();
        for (String line : Files.readAllLines(folder.resolve("steps.txt"))) {
            String[] words = line.split(" ");
            // Programs may print any bytes.
            byte[] output = Files.readAllBytes(folder.resolve(words[0] + ".log"));
            steps.add(
                    new Step(
                            words[0],
                            Integer.parseInt(words[1]),
                            Integer.parseInt(words[2]),
                            new String(output, StandardCharsets.UTF_8)));
        }
        SmokeComparison times =
                SmokeComparison.of(output(steps, "device-time"), output(steps, "device-time-c"));
        Path csv = folder.resolve("bandwidth.csv");
        List<String> bandwidth = Files.exists(csv) ? Files.readAllLines(csv) : List.of();
        String verdict = verdict(steps, times, devices);
        Files.writeString(
                folder.resolve("report.md"),
                markdown(library, devices, verdict, times, bandwidth, steps));
        Files.writeString(
                folder.resolve("report.json"), json(library, devices, verdict, bandwidth, steps));
        System.out.println(library + ": " + verdict);
    }

    private static String output(List<Step> steps, String name) {
        return steps.stream()
                .filter(step -> step.name().equals(name))
                .map(Step::output)
                .findFirst()
                .orElse("");
    }

    private static String verdict(List<Step> steps, SmokeComparison times, String devices) {
        List<String> failed = steps.stream().filter(Step::isFailure).map(Step::name).toList();
        boolean hardware = !devices.equals("none");
        return (failed.isEmpty() ? "PASSED" : "FAILED in " + String.join(", ", failed))
                + named("; skipped: ", SKIPPED, steps)
                + named("; NOT STARTED, since the time was over: ", NOT_STARTED, steps)
                + (hardware ? times.verdict() : "")
                + (hardware ? "" : "; NO DEVICE HERE, so this says nothing about hardware");
    }

    private static String named(String title, int code, List<Step> steps) {
        List<String> names =
                steps.stream().filter(step -> step.code() == code).map(Step::name).toList();
        return names.isEmpty() ? "" : title + String.join(", ", names);
    }

    private static String markdown(
            String library,
            String devices,
            String verdict,
            SmokeComparison times,
            List<String> bandwidth,
            List<Step> steps) {
        StringBuilder text = new StringBuilder("# Smoke test of " + library + "\n\nVerdict: ");
        text.append(verdict).append("\n\nDevices: ").append(devices);
        text.append("\n\n| step | result | seconds |\n|---|---|---|\n");
        for (Step step : steps) {
            text.append("| ").append(step.name()).append(" | ").append(step.state());
            text.append(" | ").append(step.seconds()).append(" |\n");
        }
        text.append(times.markdown());
        if (!bandwidth.isEmpty()) {
            text.append("\n## Bandwidth\n\nBus bandwidth by the formula of nccl-tests; ")
                    .append(devices)
                    .append("\n\n");
            for (int i = 0; i < bandwidth.size(); i++) {
                text.append("| ").append(bandwidth.get(i).replace(",", " | ")).append(" |\n");
                if (i == 0) {
                    text.append("|---".repeat(bandwidth.get(0).split(",").length)).append("|\n");
                }
            }
        }
        for (Step step : steps) {
            text.append("\n## ").append(step.name()).append("\n\n````\n");
            text.append(step.output().stripTrailing()).append("\n````\n");
        }
        return text.toString();
    }

    private static String json(
            String library,
            String devices,
            String verdict,
            List<String> bandwidth,
            List<Step> steps) {
        List<String> objects = new ArrayList<>();
        for (Step step : steps) {
            objects.add(
                    "{\"name\": "
                            + quoted(step.name())
                            + ", \"result\": "
                            + quoted(step.state())
                            + ", \"seconds\": "
                            + step.seconds()
                            + ",\n  \"output\": "
                            + quoted(step.output())
                            + "}");
        }
        return "{\"library\": "
                + quoted(library)
                + ", \"verdict\": "
                + quoted(verdict)
                + ", \"devices\": "
                + quoted(devices)
                + ",\n\"bandwidth\": ["
                + String.join(", ", bandwidth.stream().map(SmokeReport::quoted).toList())
                + "],\n\"steps\": [\n"
                + String.join(",\n", objects)
                + "\n]}\n";
    }

    private static String quoted(String text) {
        StringBuilder json = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\') {
                json.append('\\').append(c);
            } else if (c < ' ') {
                json.append(String.format("\\u%04x", (int) c));
            } else {
                json.append(c);
            }
        }
        return json.append('"').toString();
    }
}
