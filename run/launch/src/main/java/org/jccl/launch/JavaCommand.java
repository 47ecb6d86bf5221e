package org.jccl.launch;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jccl.BootstrapException;
import org.jccl.FailureContext;
import org.jccl.spi.PathSetting;

/** Builds the command that starts a JVM. */
final class JavaCommand {

    /** The first Java version that warns about native access that is not enabled. */
    private static final int WARNS_ABOUT_NATIVE_ACCESS = 24;

    private static final Pattern VERSION =
            Pattern.compile("(?:JAVA_VERSION=|version )\"(?:1\\.)?(\\d+)");

    private static final int VERSION_SECONDS = 30;

    private JavaCommand() {}

    /**
     * Returns the command of a JVM that runs a class.
     *
     * @param classPath the class path; empty for the paths of this JVM
     */
    static List<String> of(
            Path executable,
            List<String> jvmArguments,
            Optional<String> classPath,
            Class<?> mainClass,
            List<String> arguments) {
        // A JVM option cannot name a module that the program itself loaded.
        boolean ofModule = mainClass.getModule().getLayer() == ModuleLayer.boot();
        if (ofModule && classPath.isEmpty()) {
            return ofModule(executable, jvmArguments, mainClass, arguments);
        }
        if (classPath.isEmpty() && !isOnClassPath(mainClass)) {
            List<String> where = OwnStart.of(mainClass);
            return of(executable, jvmArguments, "ALL-UNNAMED", where, arguments);
        }
        return ofClass(
                executable,
                jvmArguments,
                classPath.orElseGet(JavaCommand::ownClassPath),
                mainClass.getName(),
                arguments);
    }

    private static boolean isOnClassPath(Class<?> type) {
        String file = type.getName().replace('.', '/') + ".class";
        return ClassLoader.getSystemResource(file) != null;
    }

    /** Returns the command of a JVM that runs a class from the class path. */
    static List<String> ofClass(
            Path executable,
            List<String> jvmArguments,
            String classPath,
            String mainClass,
            List<String> arguments) {
        List<String> where = List.of("-cp", classPath, mainClass);
        return of(executable, jvmArguments, "ALL-UNNAMED", where, arguments);
    }

    /** Returns the command of a JVM that runs a class of a module, with the paths of this JVM. */
    private static List<String> ofModule(
            Path executable,
            List<String> jvmArguments,
            Class<?> mainClass,
            List<String> arguments) {
        List<String> where = new ArrayList<>();
        // In a jlink image, the modules are in the image, and there is no path.
        path("jdk.module.path").ifPresent(path -> where.addAll(List.of("-p", path)));
        path("java.class.path").ifPresent(path -> where.addAll(List.of("-cp", path)));
        where.add("-m");
        where.add(mainClass.getModule().getName() + "/" + mainClass.getName());
        String mayLoad =
                ModuleLayer.boot().modules().stream()
                        .map(Module::getName)
                        .filter(name -> !name.startsWith("java.") && !name.startsWith("jdk."))
                        .collect(Collectors.joining(",", "ALL-UNNAMED,", ""));
        return of(executable, jvmArguments, mayLoad, where, arguments);
    }

    private static List<String> of(
            Path executable,
            List<String> jvmArguments,
            String mayLoadNatives,
            List<String> where,
            List<String> arguments) {
        List<String> command = new ArrayList<>();
        command.add(executable.toString());
        if (featureVersion(executable) >= WARNS_ABOUT_NATIVE_ACCESS) {
            command.add("--enable-native-access=" + mayLoadNatives);
        }
        command.addAll(jvmArguments);
        command.addAll(where);
        command.addAll(arguments);
        return command;
    }

    /** Returns the executable of this JVM. */
    static Path ownExecutable() {
        String home = System.getProperty("java.home");
        return PathSetting.of("system property java.home", home, "bin", "java");
    }

    /** Returns all paths from which this JVM can load classes, as a class path. */
    static String ownClassPath() {
        return Stream.of("java.class.path", "jdk.module.path")
                .flatMap(property -> path(property).stream())
                .reduce((left, right) -> left + File.pathSeparator + right)
                .orElse(".");
    }

    private static Optional<String> path(String property) {
        return Optional.ofNullable(System.getProperty(property)).filter(path -> !path.isEmpty());
    }

    /** Reads the {@code release} file beside the executable, which is cheaper than running it. */
    static int featureVersion(Path executable) {
        if (executable.equals(ownExecutable())) {
            return Runtime.version().feature();
        }
        try {
            Path release = executable.toRealPath().getParent().resolveSibling("release");
            String text =
                    Files.isRegularFile(release) ? Files.readString(release) : ask(executable);
            Matcher version = VERSION.matcher(text);
            if (version.find()) {
                return Integer.parseInt(version.group(1));
            }
            throw unknownVersion(executable, "its output is '" + text.strip() + "'", null);
        } catch (IOException e) {
            throw unknownVersion(executable, e.getMessage(), e);
        }
    }

    private static String ask(Path executable) throws IOException {
        Process process =
                new ProcessBuilder(executable.toString(), "-version")
                        .redirectErrorStream(true)
                        .start();
        try {
            if (!process.waitFor(VERSION_SECONDS, TimeUnit.SECONDS)) {
                throw new IOException("-version did not end within " + VERSION_SECONDS + " s");
            }
            byte[] answer = process.getInputStream().readAllBytes();
            return new String(answer, StandardCharsets.UTF_8);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted while " + executable + " -version ran", e);
        } finally {
            process.destroyForcibly();
        }
    }

    private static BootstrapException unknownVersion(Path executable, String why, Exception cause) {
        return new BootstrapException(
                FailureContext.NONE,
                "cannot determine the version of "
                        + executable
                        + ": "
                        + why
                        + ". Name a java executable",
                cause);
    }
}
