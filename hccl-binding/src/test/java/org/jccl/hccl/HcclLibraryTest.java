package org.jccl.hccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.jna.NativeLibrary;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.jccl.testing.ChildJvm;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class HcclLibraryTest {

    private static List<String> places(
            HcclLibrary file, Properties properties, Map<String, String> environment) {
        return file.places(file.names.get(0), properties, environment).candidates().stream()
                .map(Object::toString)
                .toList();
    }

    @Test
    void propertyThenVariableAreTheOnlyPlaceWhenSet() {
        Properties properties = new Properties();
        properties.setProperty("org.jccl.hccl.library", "/a/libhccl.so");
        Map<String, String> environment =
                Map.of("JCCL_HCCL_LIBRARY", "/b/libhccl.so", "ASCEND_HOME_PATH", "/c");
        assertThat(places(HcclLibrary.HCCL, properties, environment))
                .containsExactly("/a/libhccl.so (system property org.jccl.hccl.library)");
        assertThat(places(HcclLibrary.HCCL, new Properties(), environment))
                .containsExactly("/b/libhccl.so (environment variable JCCL_HCCL_LIBRARY)");
    }

    @Test
    void otherPlacesAreTriedInTheDocumentedOrder() {
        Map<String, String> environment =
                Map.of(
                        "ASCEND_HOME_PATH", "/home",
                        "ASCEND_TOOLKIT_HOME", "/toolkit",
                        "LD_LIBRARY_PATH", "/one:/two",
                        "HOME", "/users/me");
        assertThat(places(HcclLibrary.ACL, new Properties(), environment))
                .containsSubsequence(
                        "/home/lib64/libascendcl.so (ASCEND_HOME_PATH)",
                        "/toolkit/lib64/libascendcl.so (ASCEND_TOOLKIT_HOME)",
                        "/one/libascendcl.so (LD_LIBRARY_PATH)",
                        "/two/libascendcl.so (LD_LIBRARY_PATH)",
                        "/usr/lib64/libascendcl.so (dynamic linker)",
                        "/usr/local/Ascend/cann/lib64/libascendcl.so (default folder)",
                        "/usr/local/Ascend/ascend-toolkit/latest/lib64/libascendcl.so"
                                + " (default folder)",
                        "/usr/local/Ascend/nnae/latest/lib64/libascendcl.so (default folder)",
                        "/usr/local/Ascend/nnrt/latest/lib64/libascendcl.so (default folder)",
                        "/users/me/Ascend/cann/lib64/libascendcl.so (HOME)");
    }

    @ParameterizedTest
    @ValueSource(strings = {"devlib", "aarch64-linux/devlib", "lib64/stub"})
    void stubsForLinkingAreRefused(String below, @TempDir Path root) throws Exception {
        Path folder = Files.createDirectories(root.resolve(below));
        Path file = Files.createFile(folder.resolve("libhccl.so"));
        assertThatThrownBy(() -> HcclLibrary.rejectStub(file))
                .isInstanceOf(UnsatisfiedLinkError.class)
                .hasMessageContaining("stub");
        Path link = Files.createSymbolicLink(root.resolve("libhccl.so"), file);
        assertThatThrownBy(() -> HcclLibrary.rejectStub(link))
                .isInstanceOf(UnsatisfiedLinkError.class);
    }

    @Test
    void otherFilesAreNoStubs(@TempDir Path root) throws Exception {
        Path file = Files.createFile(root.resolve("libhccl.so"));
        assertThatCode(() -> HcclLibrary.rejectStub(file)).doesNotThrowAnyException();
    }

    @ParameterizedTest
    @ValueSource(strings = {"lib64", "x86_64-linux/lib64", "aarch64-linux/lib64"})
    void theHomeOfTheLibrariesInUseIsFound(String below, @TempDir Path root) throws Exception {
        Path home = Files.createDirectories(root.resolve("cann"));
        Path libraries = Files.createDirectories(home.resolve(below));
        Path link = Files.createSymbolicLink(root.resolve("latest"), libraries);
        assertThat(HcclLibraries.home(libraries)).contains(home.toRealPath());
        assertThat(HcclLibraries.home(link)).contains(home.toRealPath());
        assertThat(HcclLibraries.home(home)).isEmpty();
        assertThat(HcclLibraries.home(root.resolve("none"))).isEmpty();
    }

    /** HCCL looks for the programs of devices there, whatever file it was loaded from. */
    @Test
    void hcclFindsTheCannThatWasFound(@TempDir Path root) throws Exception {
        Path libraries = Files.createDirectories(root.resolve("cann/lib64"));
        for (String[] each :
                new String[][] {
                    {"org.jccl.hccl.acl", "libascendcl.so"}, {"org.jccl.hccl.library", "libhccl.so"}
                }) {
            Path file = Path.of(System.getProperty(each[0])).toRealPath();
            for (Path sibling :
                    Files.list(file.getParent()).filter(Files::isRegularFile).toList()) {
                Path copy = libraries.resolve(sibling.getFileName());
                if (Files.notExists(copy)) {
                    Files.copy(sibling, copy);
                }
            }
        }
        String[] found = {
            "-Dorg.jccl.hccl.acl=" + libraries.resolve("libascendcl.so"),
            "-Dorg.jccl.hccl.library=" + libraries.resolve("libhccl.so")
        };
        Path home = root.resolve("cann").toRealPath();
        assertThat(ChildJvm.outputOf(PrintsHome.class, Map.of(), found))
                .contains("home=" + home)
                .doesNotContain("another CANN");
        assertThat(
                        ChildJvm.outputOf(
                                PrintsHome.class, Map.of("ASCEND_HOME_PATH", "/opt/other"), found))
                .contains("home=/opt/other")
                .contains("ASCEND_HOME_PATH=/opt/other names another CANN than " + home);
    }

    static final class PrintsHome {

        private PrintsHome() {}

        public static void main(String[] arguments) {
            HcclLibraries.get().availability();
            Object[] name = {HcclLibraries.HOME_VARIABLE};
            System.out.println(
                    "home="
                            + NativeLibrary.getProcess()
                                    .getFunction("getenv")
                                    .invokeString(name, false));
        }
    }
}
