package org.jccl.internal.backend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.OutputStream;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import javax.tools.ToolProvider;
import org.jccl.Interop;
import org.jccl.UsageException;
import org.jccl.internal.host.ScriptedProvider;
import org.jccl.spi.BackendProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ReleaseTest {

    private static final String SOURCE =
            """
            package %s;

            public final class Binding implements org.jccl.spi.BackendProvider {
                public String name() { return "other"; }
                public java.util.Set<String> deviceTypes() { return java.util.Set.of("cpu"); }
                public org.jccl.Availability availability() {
                    return new org.jccl.Availability.Available("1", "here");
                }
                public org.jccl.spi.Communicator create(org.jccl.spi.CommunicatorConfig config) {
                    return null;
                }
            }
            """;

    @TempDir private Path folder;

    /** A jar of a binding, as the build of another release makes it. */
    private Path binding(String packageName, String version) throws Exception {
        return binding(packageName, "JCCL other", version);
    }

    private Path binding(String packageName, String title, String version) throws Exception {
        Path source = folder.resolve("Binding.java");
        Files.writeString(source, SOURCE.formatted(packageName));
        String path = System.getProperty("java.class.path");
        int code =
                ToolProvider.getSystemJavaCompiler()
                        .run(null, null, null, "-cp", path, "-d", folder.toString(), "" + source);
        assertThat(code).isZero();
        Manifest manifest = new Manifest();
        manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
        manifest.getMainAttributes().put(Attributes.Name.IMPLEMENTATION_TITLE, title);
        manifest.getMainAttributes().put(Attributes.Name.IMPLEMENTATION_VERSION, version);
        String type = packageName + ".Binding";
        String entry = type.replace('.', '/') + ".class";
        Path jar = folder.resolve("binding-" + version + ".jar");
        try (OutputStream out = Files.newOutputStream(jar);
                JarOutputStream entries = new JarOutputStream(out, manifest)) {
            entries.putNextEntry(new JarEntry(entry));
            entries.write(Files.readAllBytes(folder.resolve(entry)));
            entries.putNextEntry(
                    new JarEntry("META-INF/services/" + BackendProvider.class.getName()));
            entries.write(type.getBytes());
        }
        return jar;
    }

    private static String choose(Path jar) throws Exception {
        Thread thread = Thread.currentThread();
        ClassLoader before = thread.getContextClassLoader();
        try (URLClassLoader loader = new URLClassLoader(new URL[] {jar.toUri().toURL()}, before)) {
            thread.setContextClassLoader(loader);
            return Backends.choose(Optional.of("other"), Optional.empty(), Interop.NONE, Map.of())
                    .all()
                    .get(0)
                    .provider()
                    .name();
        } finally {
            thread.setContextClassLoader(before);
        }
    }

    @Test
    void aBindingOfAnotherReleaseIsRefusedWithBothVersionsAndOrigins() throws Exception {
        Path jar = binding("org.jccl.other", "0.1.7");
        String own = Release.of("jccl-engine", Release.class).version();
        assertThat(own).isNotEmpty();
        assertThatThrownBy(() -> choose(jar))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("jccl-engine is " + own + " (")
                .hasMessageContaining("engine/target/")
                .hasMessageContaining("the binding other is 0.1.7 (")
                .hasMessageContaining(jar.getFileName().toString())
                .hasMessageContaining("org.jccl:jccl-bom");
    }

    @Test
    void aBindingOfTheSameReleaseIsAccepted() throws Exception {
        String own = Release.of("jccl-engine", Release.class).version();
        assertThat(choose(binding("org.jccl.same", own))).isEqualTo("other");
    }

    @Test
    void aBindingOfSomebodyElseHasItsOwnVersions() throws Exception {
        assertThat(choose(binding("com.example", "7"))).isEqualTo("other");
    }

    /** Jars that were merged into one have the version of the program in their manifest. */
    @Test
    void theVersionOfAProgramIsNotCompared() throws Exception {
        assertThat(choose(binding("org.jccl.merged", "A program", "7"))).isEqualTo("other");
    }

    @Test
    void whatDoesNotTellItsVersionIsNotCompared() {
        assertThat(Release.of("tests", ScriptedProvider.class).version()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({
        "0.2.0, 0.2.1, true",
        "0.2.0-SNAPSHOT, 0.2.5, true",
        "0.2.0, 0.3.0, false",
        "1.2.0, 2.2.0, false",
        "0.2.0, 0.20.0, false",
        "'', 0.2.0, true",
        "nightly, nightly, true",
        "nightly, 0.2.0, false"
    })
    void ranksNeedEqualMajorAndMinor(String one, String other, boolean fit) {
        assertThat(Release.fit(one, other)).isEqualTo(fit);
        assertThat(Release.fit(other, one)).isEqualTo(fit);
    }
}
