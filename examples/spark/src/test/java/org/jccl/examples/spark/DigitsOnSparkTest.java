package org.jccl.examples.spark;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jccl.cli.Jccl;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledForJreRange;
import org.junit.jupiter.api.condition.JRE;
import org.junit.jupiter.api.io.TempDir;

/** The program on a standalone cluster, whose master, workers and driver are processes. */
@DisabledForJreRange(
        min = JRE.JAVA_24,
        disabledReason = "Spark 4.0 needs what Java 24 no longer has")
class DigitsOnSparkTest {

    private static final String EPOCHS = "600";
    private static final String JAVA =
            Path.of(System.getProperty("java.home"), "bin", "java").toString();

    private static final Path SPARK_HOME = Path.of("target", "spark").toAbsolutePath();

    /** Each process's output is a file here; the executors' are below. */
    @TempDir Path directory;

    private final List<Process> started = new ArrayList<>();
    private final List<String> ofSpark = new ArrayList<>();
    private final List<String> ofJob = new ArrayList<>();

    @BeforeEach
    void installSpark() throws IOException {
        Path jars = Files.createDirectories(SPARK_HOME.resolve("jars"));
        for (String entry : System.getProperty("java.class.path").split(":")) {
            Path path = Path.of(entry);
            if (entry.contains("jccl") || entry.contains("javacpp") || Files.isDirectory(path)) {
                ofJob.add(entry);
                continue;
            }
            ofSpark.add(entry);
            Path link = jars.resolve(path.getFileName());
            Files.deleteIfExists(link); // of an earlier run
            Files.createSymbolicLink(link, path);
        }
    }

    @AfterEach
    void stop() throws InterruptedException {
        for (Process process : started) {
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly().waitFor();
        }
    }

    private Process start(String name, List<String> command) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        builder.redirectOutput(output(name).toFile());
        builder.environment().put("SPARK_HOME", SPARK_HOME.toString());
        builder.environment().put("SPARK_SCALA_VERSION", "2.13");
        builder.environment().put("SPARK_LOCAL_IP", "127.0.0.1");
        Process process = builder.start();
        started.add(process);
        return process;
    }

    private Process spark(String name, String main, String... arguments) throws IOException {
        List<String> command = new ArrayList<>(List.of(JAVA, "-XX:TieredStopAtLevel=1"));
        for (String opened :
                List.of("java.nio", "sun.nio.ch", "java.util", "java.lang", "java.lang.invoke")) {
            command.add("--add-opens=java.base/" + opened + "=ALL-UNNAMED");
        }
        command.addAll(
                List.of("-cp", String.join(":", ofSpark), "org.apache.spark.deploy." + main));
        command.addAll(List.of(arguments));
        return start(name, command);
    }

    private Path output(String name) {
        return directory.resolve(name + ".log");
    }

    private static String read(Path file) throws IOException {
        return Files.exists(file) ? Files.readString(file) : "";
    }

    private String awaitOutput(String name, Pattern pattern) throws Exception {
        for (int i = 0; i < 600; i++) {
            Matcher found = pattern.matcher(read(output(name)));
            if (found.find()) {
                return found.group(1);
            }
            Thread.sleep(100);
        }
        throw new AssertionError(name + " did not say " + pattern + ": " + read(output(name)));
    }

    /** What an executor prints is in a file of its worker's. */
    private boolean anExecutorTrains() throws IOException {
        try (Stream<Path> files = Files.walk(directory.resolve("work"))) {
            for (Path file : files.filter(path -> path.endsWith("stdout")).toList()) {
                if (read(file).contains("epoch 1 of " + EPOCHS)) {
                    return true;
                }
            }
        }
        return false;
    }

    @Test
    void anExecutorIsKilledAndTheWeightsAreThoseOfJcclRun() throws Exception {
        spark("master", "master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0");
        String url = awaitOutput("master", Pattern.compile("master at (spark://[0-9.:]+)"));
        List<Process> workers = new ArrayList<>();
        for (String name : List.of("work/a", "work/b")) {
            Path place = Files.createDirectories(directory.resolve(name));
            String[] options = {
                "--host", "127.0.0.1", "--webui-port", "0", "--cores", "1", "--memory", "600m"
            };
            List<String> arguments = new ArrayList<>(List.of(options));
            arguments.addAll(List.of("--work-dir", place.toString(), url));
            workers.add(spark(name, "worker.Worker", arguments.toArray(String[]::new)));
        }
        Process driver =
                spark(
                        "driver",
                        "SparkSubmit",
                        "--master",
                        url,
                        "--conf",
                        "spark.executor.memory=512m",
                        "--conf",
                        "spark.ui.enabled=false",
                        "--conf",
                        "spark.scheduler.barrier.maxConcurrentTasksCheck.interval=1s",
                        "--jars",
                        String.join(",", jars()),
                        "--class",
                        DigitsOnSpark.class.getName(),
                        jar(Path.of("target", "classes"), "program.jar").toString(),
                        "2",
                        EPOCHS);
        while (!anExecutorTrains()) {
            assertThat(driver.isAlive()).as(read(output("driver"))).isTrue();
            Thread.sleep(20);
        }
        workers.get(1).children().forEach(ProcessHandle::destroyForcibly);
        assertThat(driver.waitFor(150, TimeUnit.SECONDS)).isTrue();
        assertThat(driver.exitValue()).as(read(output("driver"))).isZero();

        String expected = weightsOfJcclRun();
        for (int rank = 0; rank < 2; rank++) {
            assertThat(read(output("driver")))
                    .contains("rank " + rank + ": weights " + expected)
                    .containsPattern("rank " + rank + ": .* test accuracy 9\\d\\.\\d %, attempt 1");
        }
    }

    private String weightsOfJcclRun() throws Exception {
        List<String> all = new ArrayList<>(ofJob);
        all.addAll(ofSpark);
        String classPath = String.join(":", all);
        Process run =
                start(
                        "run",
                        List.of(
                                JAVA,
                                "-cp",
                                classPath,
                                Jccl.class.getName(),
                                "run",
                                "-n",
                                "2",
                                "--",
                                JAVA,
                                "-cp",
                                classPath,
                                DigitsOnRanks.class.getName(),
                                EPOCHS));
        assertThat(run.waitFor(60, TimeUnit.SECONDS)).isTrue();
        assertThat(run.exitValue()).as(read(output("run"))).isZero();
        return awaitOutput("run", Pattern.compile("rank 1: weights ([0-9a-f]{8}, test [^%]*%)"));
    }

    /** In a build that stops before packages are made, what others have compiled is in folders. */
    private List<String> jars() throws IOException {
        List<String> jars = new ArrayList<>();
        for (String entry : ofJob) {
            Path path = Path.of(entry);
            jars.add(
                    Files.isDirectory(path)
                            ? jar(path, "classes-" + jars.size() + ".jar").toString()
                            : entry);
        }
        return jars;
    }

    private Path jar(Path classes, String name) throws IOException {
        Path jar = directory.resolve(name);
        java.util.spi.ToolProvider.findFirst("jar")
                .orElseThrow()
                .run(
                        System.out,
                        System.err,
                        "--create",
                        "--file",
                        jar.toString(),
                        "-C",
                        classes.toString(),
                        ".");
        return jar;
    }
}
