package org.jccl.spark;

import java.io.IOException;
import java.io.OutputStream;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.apache.spark.SparkConf;
import org.apache.spark.sql.SparkSession;

/**
 * A cluster whose two executors are processes of their own ({@code local-cluster}), with one slot
 * and one made-up GPU each. They get Spark's jars as an installation has them, and JCCL's as a
 * job's jars, which each copies to its own directory.
 */
final class TestCluster {

    static final String GPU = "3";

    private TestCluster() {}

    /** Starts it; natives are unpacked below the directory. */
    static SparkSession start(Path directory) throws IOException {
        List<Path> sparks = new ArrayList<>();
        List<String> jobs = new ArrayList<>();
        for (String entry : System.getProperty("java.class.path").split(":")) {
            Path path = Path.of(entry);
            if (Files.isDirectory(path)) {
                jobs.add(
                        jar(path, directory.resolve("classes-" + jobs.size() + ".jar")).toString());
            } else if (entry.contains("jccl") || entry.contains("javacpp")) {
                jobs.add(entry);
            } else {
                sparks.add(path);
            }
        }
        install(sparks, Path.of(System.getenv("SPARK_HOME")));
        SparkConf conf =
                new SparkConf()
                        .setAppName("jccl")
                        .setMaster("local-cluster[2,1,512]")
                        .set("spark.jars", String.join(",", jobs))
                        .set("spark.executor.memory", "512m")
                        .set("spark.ui.enabled", "false")
                        .set("spark.serializer", "org.apache.spark.serializer.KryoSerializer")
                        .set("spark.stage.maxConsecutiveAttempts", "2")
                        // Ends other jobs at the first failure; barrier stages do not ask.
                        .set("spark.task.maxFailures", "1")
                        .set("spark.scheduler.barrier.maxConcurrentTasksCheck.interval", "1s")
                        .set(
                                "spark.executor.extraJavaOptions",
                                "-XX:TieredStopAtLevel=1 -Duser.home=" + directory);
        String script = gpuScript(directory).toString();
        for (String owner : List.of("worker", "executor", "task")) {
            conf.set("spark." + owner + ".resource.gpu.amount", "1");
            conf.set("spark." + owner + ".resource.gpu.discoveryScript", script);
        }
        return SparkSession.builder().config(conf).getOrCreate();
    }

    private static void install(List<Path> jars, Path home) throws IOException {
        Path folder = Files.createDirectories(home.resolve("jars"));
        for (Path jar : jars) {
            Path link = folder.resolve(jar.getFileName());
            Files.deleteIfExists(link); // of an earlier run
            Files.createSymbolicLink(link, jar);
        }
    }

    private static Path gpuScript(Path directory) throws IOException {
        Path script = directory.resolve("gpus.sh");
        Files.writeString(
                script,
                "#!/bin/sh\necho '{\"name\": \"gpu\", \"addresses\": [\"" + GPU + "\"]}'\n");
        return Files.setPosixFilePermissions(script, PosixFilePermissions.fromString("rwxr-xr-x"));
    }

    private static Path jar(Path classes, Path jar) throws IOException {
        try (OutputStream out = Files.newOutputStream(jar);
                ZipOutputStream zip = new ZipOutputStream(out);
                Stream<Path> files = Files.walk(classes)) {
            for (Path file : files.filter(Files::isRegularFile).toList()) {
                URI name = classes.toUri().relativize(file.toUri());
                zip.putNextEntry(new ZipEntry(name.getPath()));
                Files.copy(file, zip);
                zip.closeEntry();
            }
        }
        return jar;
    }
}
