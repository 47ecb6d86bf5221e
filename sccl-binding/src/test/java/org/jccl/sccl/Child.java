package org.jccl.sccl;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** A JVM of its own, because mocks read their settings from the environment and load once. */
final class Child {

    static final List<String> PROPERTIES =
            List.of("tpudnn", "tpurt", "library", "module").stream()
                    .map(name -> "org.jccl.sccl." + name)
                    .toList();

    /**
     * What became of it.
     *
     * @param code exit code
     * @param output standard output and standard error
     */
    record Result(int code, String output) {}

    private Child() {}

    /** Runs a class with this JVM's class path and libraries, under more variables. */
    static Result run(Class<?> main, Map<String, String> environment, String... properties)
            throws IOException, InterruptedException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.add("-cp");
        command.add(System.getProperty("java.class.path"));
        for (String name : PROPERTIES) {
            String value = System.getProperty(name);
            if (value != null) {
                command.add("-D" + name + "=" + value);
            }
        }
        // Later ones win.
        command.addAll(List.of(properties));
        command.add(main.getName());
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        builder.environment().putAll(environment);
        Process process = builder.start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        return new Result(process.waitFor(), output);
    }
}
