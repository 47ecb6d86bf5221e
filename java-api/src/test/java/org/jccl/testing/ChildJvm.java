package org.jccl.testing;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** A JVM of its own, because mocks read their settings from the environment and load once. */
public final class ChildJvm {

    private static final String[] SHORT_LIVED = {
        "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", Patience.OPTION
    };

    /** Where a binding looks for its libraries, and where they are unpacked. */
    private static final List<String> INHERITED = List.of("org.jccl.", "org.bytedeco.");

    /** An option by which the JVM checks its native code, for bindings that bear it. */
    private static final String CHECK = "jccl.test.check";

    private ChildJvm() {}

    /**
     * Options of a JVM that lives for seconds, with which it starts in less processor time, and is
     * as patient as this one.
     *
     * @return options, in a new array
     */
    public static String[] shortLived() {
        return SHORT_LIVED.clone();
    }

    /**
     * Runs a class, which must end well, with this JVM's class path and properties.
     *
     * @param main has a main method
     * @param environment variables that are added
     * @param arguments of the JVM; a property that is set here counts
     * @return its standard output and standard error
     * @throws IOException if it did not start
     * @throws InterruptedException if the test's time is over
     */
    public static String outputOf(
            Class<?> main, Map<String, String> environment, String... arguments)
            throws IOException, InterruptedException {
        return outputOf(0, main, environment, arguments);
    }

    /**
     * Runs a class that ends in a certain way, with this JVM's class path and properties.
     *
     * @param code the process must end with
     * @param main has a main method
     * @param environment variables that are added
     * @param arguments of the JVM; a property that is set here counts
     * @return its standard output and standard error
     * @throws IOException if it did not start
     * @throws InterruptedException if the test's time is over
     */
    public static String outputOf(
            int code, Class<?> main, Map<String, String> environment, String... arguments)
            throws IOException, InterruptedException {
        ProcessBuilder builder = new ProcessBuilder(command(main, arguments));
        builder.environment().putAll(environment);
        return run(code, builder);
    }

    /**
     * Runs a class with {@code LC_ALL=C}, so that Java knows paths of ASCII only. Variables and
     * arguments reach it in UTF-8, as the system has them, whatever the locale of this JVM.
     *
     * @param script a file that is written
     * @param main has a main method
     * @param environment variables that are added
     * @param arguments of the JVM; a property that is set here counts
     * @return its standard output and standard error
     * @throws IOException if it did not start
     * @throws InterruptedException if the test's time is over
     */
    public static String outputInAscii(
            Path script, Class<?> main, Map<String, String> environment, String... arguments)
            throws IOException, InterruptedException {
        StringBuilder text = new StringBuilder("exec env LC_ALL=C");
        environment.forEach((name, value) -> text.append(' ').append(quoted(name + "=" + value)));
        command(main, arguments).forEach(word -> text.append(' ').append(quoted(word)));
        Files.writeString(script, text);
        return run(0, new ProcessBuilder("sh", script.toString()));
    }

    private static String quoted(String word) {
        return "'" + word.replace("'", "'\\''") + "'";
    }

    private static List<String> command(Class<?> main, String... arguments) {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of(SHORT_LIVED));
        if (Runtime.version().feature() >= 24) {
            // Else the JVM warns among what the class prints.
            command.add("--enable-native-access=ALL-UNNAMED");
        }
        String check = System.getProperty(CHECK);
        if (check != null) {
            command.add(check);
        }
        command.add("-cp");
        command.add(System.getProperty("java.class.path"));
        System.getProperties()
                .forEach(
                        (name, value) -> {
                            if (INHERITED.stream().anyMatch(name.toString()::startsWith)) {
                                command.add("-D" + name + "=" + value);
                            }
                        });
        command.addAll(List.of(arguments));
        command.add(main.getName());
        return command;
    }

    private static String run(int code, ProcessBuilder builder)
            throws IOException, InterruptedException {
        // The JVM prints a note about this variable among the output of the class.
        builder.environment().remove("JDK_JAVA_OPTIONS");
        Process process = builder.redirectErrorStream(true).start();
        try {
            String output =
                    new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            assertThat(output).doesNotContain("WARNING in native method", "FATAL ERROR");
            assertThat(process.waitFor()).as(output).isEqualTo(code);
            return output;
        } finally {
            process.destroyForcibly();
        }
    }
}
