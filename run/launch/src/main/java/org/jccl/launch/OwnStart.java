package org.jccl.launch;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.jar.JarFile;
import java.util.jar.Manifest;
import org.jccl.FailureContext;
import org.jccl.UsageException;

/** How this JVM was started, for a main class that is not on its class path. */
final class OwnStart {

    /**
     * Names the main class of the program in a jar of Spring Boot, whose own main class loads it.
     */
    private static final String START_CLASS = "Start-Class";

    /** What runs {@code java App.java}; the file and the arguments follow. */
    private static final String SOURCE_LAUNCHER = "jdk.compiler/com.sun.tools.javac.launcher.";

    private OwnStart() {}

    /**
     * Returns the arguments that start a class as this JVM started it: {@code -jar app.jar}, or a
     * source file.
     *
     * @throws UsageException if this JVM did not start with the class
     */
    static List<String> of(Class<?> mainClass) {
        String classPath = System.getProperty("java.class.path", "");
        if (startClass(classPath).equals(Optional.of(mainClass.getName()))) {
            return List.of("-jar", classPath);
        }
        Optional<Path> source = sourceFile(System.getProperty("sun.java.command", ""));
        if (source.isPresent() && isLaunched(mainClass)) {
            String file = source.get().toString();
            return classPath.isEmpty() ? List.of(file) : List.of("-cp", classPath, file);
        }
        throw new UsageException(
                FailureContext.NONE,
                "the ranks cannot find %s: %s loaded it, and it is neither on the class path %s nor the class with which this JVM was started. Give the ranks a class path, start them with command(...), or use 'jccl run'"
                        .formatted(mainClass.getName(), mainClass.getClassLoader(), classPath));
    }

    private static Optional<String> startClass(String classPath) {
        if (!classPath.endsWith(".jar")) {
            return Optional.empty();
        }
        try (JarFile jar = new JarFile(classPath)) {
            return Optional.ofNullable(jar.getManifest())
                    .map(Manifest::getMainAttributes)
                    .map(attributes -> attributes.getValue(START_CLASS));
        } catch (IOException e) {
            return Optional.empty(); // several jars, or none
        }
    }

    /** The command does not show where the name of the file ends. */
    private static Optional<Path> sourceFile(String command) {
        if (!command.startsWith(SOURCE_LAUNCHER)) {
            return Optional.empty();
        }
        String words = command.substring(command.indexOf(' ') + 1);
        for (int end = words.length(); end > 0; end = words.lastIndexOf(' ', end - 1)) {
            Path file = Path.of(words.substring(0, end));
            if (Files.isRegularFile(file)) {
                return Optional.of(file.toAbsolutePath());
            }
        }
        return Optional.empty();
    }

    /** The first class of a source file is the one that is run, and has no other main below it. */
    private static boolean isLaunched(Class<?> mainClass) {
        return StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE)
                .walk(
                        frames ->
                                frames.filter(frame -> frame.getMethodName().equals("main"))
                                        .map(StackWalker.StackFrame::getDeclaringClass)
                                        .filter(OwnStart::isOfTheProgram)
                                        .reduce((upper, lower) -> lower))
                .filter(mainClass::equals)
                .isPresent();
    }

    private static boolean isOfTheProgram(Class<?> type) {
        return type.getClassLoader() != ClassLoader.getSystemClassLoader()
                && type.getModule().getName() == null;
    }
}
