package org.jccl.nccl;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Makes report.md and report.json of the hardware smoke test from what its steps left: a line
 * {@code name code seconds} each in steps.txt, and the output in name.log.
 */
final class SmokeReport {

    /** Exit code of a step that says it can not run here. */
    private static final int SKIPPED = 77;

    private record Step(String name, int code, int seconds, String output) {

        String state() {
            return switch (code) {
                case 0 -> "passed";
                case SKIPPED -> "skipped";
                case 124, 137 -> "timed out";
                default -> "failed with exit code " + code;
            };
        }

        boolean isFailure() {
            return code != 0 && code != SKIPPED;
        }
    }

    private SmokeReport() {}

    /**
     * Writes the report and prints the verdict.
     *
     * @param arguments the folder, then {@code yes} when the machine has a GPU, else {@code no}
     * @throws IOException when the folder can not be read or written
     */
    public static void main(String[] arguments) throws IOException {
        Path folder = Path.of(arguments[0]);
        boolean gpu = arguments[1].equals("yes");
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
        String verdict = verdict(steps, times, gpu);
        Files.writeString(folder.resolve("report.md"), markdown(verdict, times, steps));
        Files.writeString(folder.resolve("report.json"), json(verdict, gpu, steps));
        System.out.println(verdict);
    }

    private static String output(List<Step> steps, String name) {
        return steps.stream()
                .filter(step -> step.name().equals(name))
                .map(Step::output)
                .findFirst()
                .orElse("");
    }

    private static String verdict(List<Step> steps, SmokeComparison times, boolean gpu) {
        List<String> failed = steps.stream().filter(Step::isFailure).map(Step::name).toList();
        List<String> skipped =
                steps.stream().filter(step -> step.code() == SKIPPED).map(Step::name).toList();
        return (failed.isEmpty() ? "PASSED" : "FAILED in " + String.join(", ", failed))
                + (skipped.isEmpty() ? "" : "; skipped: " + String.join(", ", skipped))
                + (gpu ? times.verdict() : "")
                + (gpu ? "" : "; NO GPU HERE, so this says nothing about hardware");
    }

    private static String markdown(String verdict, SmokeComparison times, List<Step> steps) {
        StringBuilder text = new StringBuilder("# CUDA smoke test\n\nVerdict: ");
        text.append(verdict).append("\n\n| step | result | seconds |\n|---|---|---|\n");
        for (Step step : steps) {
            text.append("| ").append(step.name()).append(" | ").append(step.state());
            text.append(" | ").append(step.seconds()).append(" |\n");
        }
        text.append(times.markdown());
        for (Step step : steps) {
            text.append("\n## ").append(step.name()).append("\n\n````\n");
            text.append(step.output().stripTrailing()).append("\n````\n");
        }
        return text.toString();
    }

    private static String json(String verdict, boolean gpu, List<Step> steps) {
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
        return "{\"verdict\": "
                + quoted(verdict)
                + ", \"gpu\": "
                + gpu
                + ", \"steps\": [\n"
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
