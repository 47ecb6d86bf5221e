package org.jccl.cli;

import java.io.File;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/**
 * Commands of {@code jccl run} that name a Java program and not a command: java comes before it.
 */
final class JavaProgram {

    private static final Set<String> CLASS_PATH = Set.of("-cp", "-classpath", "--class-path");

    private JavaProgram() {}

    /** Returns a command for an application's jar and its arguments; others are returned as is. */
    static List<String> ofJar(List<String> words) {
        String first = words.get(0);
        if (!first.endsWith(".jar") || new File(first).canExecute()) {
            return words;
        }
        List<String> command = java();
        command.add("-jar");
        command.addAll(words);
        return command;
    }

    /** Returns a command for a main class, which its class path may follow, and its arguments. */
    static List<String> ofMainClass(List<String> words) {
        List<String> command = java();
        int arguments = 1;
        if (words.size() > 2 && CLASS_PATH.contains(words.get(1))) {
            command.addAll(words.subList(1, 3));
            arguments = 3;
        }
        command.add(words.get(0));
        command.addAll(words.subList(arguments, words.size()));
        return command;
    }

    /** The java that runs this command, without its warning about native code. */
    private static List<String> java() {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        if (Runtime.version().feature() >= 24) {
            command.add("--enable-native-access=ALL-UNNAMED");
        }
        return command;
    }
}
