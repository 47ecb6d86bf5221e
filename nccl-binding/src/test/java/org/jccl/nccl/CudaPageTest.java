package org.jccl.nccl;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.IntUnaryOperator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.tools.ToolProvider;
import org.jccl.Device;
import org.jccl.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The program of docs/cuda.md, compiled and run with two ranks. */
class CudaPageTest {

    private static final Pattern PROGRAM = Pattern.compile("(?ms)^```java\n(.*?)^```$");

    @Test
    void theProgramOfThePageHasTheSumOnEachRank(@TempDir Path folder) throws Exception {
        Matcher program = PROGRAM.matcher(Files.readString(Path.of("../docs/cuda.md")));
        assertThat(program.find()).isTrue();
        Path source = Files.writeString(folder.resolve("CudaAllReduce.java"), program.group(1));
        String path = System.getProperty("java.class.path");
        List<String> arguments = List.of("-cp", path, "-d", folder.toString(), source.toString());
        assertThat(
                        ToolProvider.getSystemJavaCompiler()
                                .run(null, null, null, arguments.toArray(String[]::new)))
                .isZero();
        IntUnaryOperator devices = NcclConformanceTest.ownDevices();
        NcclBackend backend = new NcclBackend(NcclOptions.defaults(), devices);
        try (URLClassLoader loader = new URLClassLoader(new URL[] {folder.toUri().toURL()})) {
            Method sum =
                    loader.loadClass("CudaAllReduce")
                            .getDeclaredMethod("sum", org.jccl.ProcessGroup.class, Device.class);
            sum.setAccessible(true);
            backend.ranks()
                    .run(
                            2,
                            rank -> {
                                Device gpu =
                                        new Device(
                                                NcclProvider.DEVICE_TYPE,
                                                devices.applyAsInt(rank.group().rank()));
                                Gpu.handle(Stream.current(gpu)); // the presets on the mock
                                assertThat(sum.invoke(null, rank.group(), gpu)).isEqualTo(3f);
                            });
        }
    }
}
