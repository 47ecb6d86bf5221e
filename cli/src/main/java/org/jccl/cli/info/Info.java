package org.jccl.cli.info;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jccl.Availability;
import org.jccl.BootstrapException;
import org.jccl.bootstrap.ClusterEnvironment;
import org.jccl.spi.support.NativeLibraries;

/**
 * The output of {@code jccl info}.
 *
 * @param host this machine and Java
 * @param cache the directory for extracted native libraries, or why there is none
 * @param launcher the launcher that started this process, with rank and world size
 * @param bindings all backends
 */
record Info(Host host, String cache, Launcher launcher, List<Bindings.Binding> bindings) {

    private static final String NO_CACHE =
            "none: no directory's name is a path here; set -Dorg.jccl.cache or LC_ALL=C.UTF-8";

    private static final String LINE = "%-10s %s%n";

    /**
     * The launcher from the environment.
     *
     * @param name name of the launcher, or {@code none}
     * @param place rank and world size, or why they are not known
     */
    record Launcher(String name, String place) {

        private static final String NONE = "none";

        boolean isNone() {
            return name.equals(NONE);
        }

        static Launcher detect(Map<String, String> environment) {
            for (ClusterEnvironment launcher : ClusterEnvironment.known()) {
                if (launcher.detect(environment)) {
                    return new Launcher(launcher.name(), place(launcher, environment));
                }
            }
            return new Launcher(NONE, "no launcher's variables in the environment");
        }

        private static String place(ClusterEnvironment launcher, Map<String, String> environment) {
            try {
                var membership = launcher.read(environment);
                return "rank " + membership.rank() + " of " + membership.worldSize();
            } catch (BootstrapException e) {
                return e.getMessage();
            }
        }
    }

    static Info of(Map<String, String> environment) {
        return new Info(
                Host.current(),
                NativeLibraries.cacheDirectories().stream()
                        .findFirst()
                        .map(Path::toString)
                        .orElse(NO_CACHE),
                Launcher.detect(environment),
                Bindings.all());
    }

    /** Prints the usable backends, and for each other backend a line with the reason. */
    void writeText(PrintWriter out) {
        out.println(host.line() + launcherPart());
        List<String> usable = new ArrayList<>();
        List<String> missing = new ArrayList<>();
        for (Bindings.Binding binding : bindings) {
            if (binding.availability() instanceof Availability.Available found) {
                String devices = String.join(" ", binding.deviceTypes());
                usable.add(
                        binding.name() + " (" + firstPart(found.version()) + ", " + devices + ")");
            } else if (binding.availability() instanceof Availability.Unavailable not) {
                missing.add(binding.name() + ": " + nextStep(not.reason()));
            }
        }
        out.printf(LINE, "usable", usable.isEmpty() ? "nothing" : String.join(", ", usable));
        for (int i = 0; i < missing.size(); i++) {
            boolean last = i == missing.size() - 1;
            String more = last ? " (more: jccl info --verbose)" : "";
            out.printf(LINE, i == 0 ? "missing" : "", missing.get(i) + more);
        }
    }

    private String launcherPart() {
        return launcher.isNone() ? "" : "; " + launcher.name() + ": " + launcher.place();
    }

    /** A library's version without what it was built from. */
    private static String firstPart(String version) {
        return version.split(",", 2)[0];
    }

    /** What is missing and what to install. The details also say how to name a file. */
    private static String nextStep(String reason) {
        return reason.replaceFirst(", or name the file .*", "");
    }

    void writeDetails(PrintWriter out) {
        out.printf(LINE, "jccl", host.version());
        out.printf(LINE, "java", host.java() + ", " + host.vm());
        out.printf(
                LINE,
                "system",
                host.os() + ", " + host.arch() + ", " + host.processors() + " processors");
        out.printf(LINE, "cache", cache);
        out.printf(LINE, "launcher", launcher.name() + " (" + launcher.place() + ")");
        out.println();
        out.println("backends");
        for (Bindings.Binding binding : bindings) {
            if (binding.availability() instanceof Availability.Available found) {
                out.printf(
                        "  %-6s available, version %s, devices %s, %s%n",
                        binding.name(),
                        found.version(),
                        String.join(" ", binding.deviceTypes()),
                        found.path());
            } else if (binding.availability() instanceof Availability.Unavailable missing) {
                out.printf("  %-6s %s%n", binding.name(), missing.reason());
                missing.tried().forEach(line -> out.printf("           tried %s%n", line));
            }
        }
    }

    void writeJson(PrintWriter out) throws IOException {
        // Closed without closing the writer, which is the command's.
        try (JsonGenerator json =
                new JsonFactory()
                        .createGenerator(out)
                        .disable(JsonGenerator.Feature.AUTO_CLOSE_TARGET)
                        .useDefaultPrettyPrinter()) {
            json.writeStartObject();
            json.writeObjectFieldStart("host");
            for (Map.Entry<String, Object> fact : host.facts().entrySet()) {
                json.writePOJOField(fact.getKey(), fact.getValue());
            }
            json.writeEndObject();
            json.writeStringField("cache", cache);
            json.writeObjectFieldStart("launcher");
            json.writeStringField("name", launcher.name());
            json.writeStringField("place", launcher.place());
            json.writeEndObject();
            json.writeArrayFieldStart("backends");
            for (Bindings.Binding binding : bindings) {
                write(json, binding);
            }
            json.writeEndArray();
            json.writeEndObject();
        }
        out.println();
    }

    private static void write(JsonGenerator json, Bindings.Binding binding) throws IOException {
        json.writeStartObject();
        json.writeStringField("name", binding.name());
        json.writeBooleanField("available", binding.availability().isAvailable());
        if (binding.availability() instanceof Availability.Available found) {
            json.writeStringField("version", found.version());
            json.writeStringField("path", found.path());
        } else if (binding.availability() instanceof Availability.Unavailable missing) {
            json.writeStringField("reason", missing.reason());
            writeAll(json, "tried", missing.tried());
        }
        writeAll(json, "devices", binding.deviceTypes());
        json.writeEndObject();
    }

    private static void writeAll(JsonGenerator json, String name, Iterable<String> values)
            throws IOException {
        json.writeArrayFieldStart(name);
        for (String value : values) {
            json.writeString(value);
        }
        json.writeEndArray();
    }
}
