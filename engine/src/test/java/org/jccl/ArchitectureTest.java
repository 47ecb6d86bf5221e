package org.jccl;

import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.Dependency;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import java.io.IOException;
import java.lang.module.ModuleDescriptor;
import java.lang.module.ModuleFinder;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jccl.internal.api.DefaultProvider;
import org.jccl.store.TcpStore;
import org.junit.jupiter.api.Test;

/**
 * The cuts between the API, the store and the engine; {@code verification/architecture} has rules
 * for all modules.
 */
class ArchitectureTest {

    private static final Pattern COMMENT = Pattern.compile("(?s)/\\*.*?\\*/|//[^\n]*");

    /** Not within other words, such as "compile". */
    private static final Pattern VENDOR =
            Pattern.compile(
                    "(?i:nccl|hccl|sccl|gloo|ascend(?!ing)|sophgo)|(?<![A-Za-z])(mpi|MPI)|Mpi(?![a-z])");

    /** The launchers of MPIs are the bootstrap's business. */
    private static final Set<String> MPI = Set.of("MpiEnvironment.java", "ClusterEnvironment.java");

    private static final Path API = classesOf(Tensor.class);

    private static final Path STORE = classesOf(TcpStore.class);

    private static final Path ENGINE = classesOf(DefaultProvider.class);

    private static final JavaClasses MAIN = new ClassFileImporter().importPaths(API, STORE, ENGINE);

    private static Path classesOf(Class<?> type) {
        try {
            return Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI());
        } catch (URISyntaxException e) {
            throw new IllegalStateException(e);
        }
    }

    /** From the bottom: a package uses those in its own row and those before it. */
    private static final List<List<String>> LAYERS =
            List.of(
                    List.of("org.jccl"),
                    List.of("org.jccl.spi"),
                    List.of(
                            "org.jccl.spi.support",
                            "org.jccl.internal.checks",
                            "org.jccl.internal.json"),
                    List.of("org.jccl.store"),
                    List.of("org.jccl.internal.rendezvous"),
                    List.of("org.jccl.bootstrap"),
                    List.of(
                            "org.jccl.internal.memory",
                            "org.jccl.internal.backend",
                            "org.jccl.internal.membership"),
                    List.of("org.jccl.internal.operation"),
                    List.of("org.jccl.internal.observe"),
                    List.of("org.jccl.internal.diagnosis"),
                    List.of("org.jccl.internal.engine"),
                    List.of("org.jccl.internal.device.failures"),
                    List.of("org.jccl.internal.host", "org.jccl.internal.device"),
                    List.of("org.jccl.internal.staged"),
                    List.of("org.jccl.internal.tensor", "org.jccl.internal.group"),
                    List.of("org.jccl.internal.torch"),
                    List.of("org.jccl.internal.api"));

    private static int layer(String packageName) {
        for (int i = 0; i < LAYERS.size(); i++) {
            if (LAYERS.get(i).contains(packageName)) {
                return i;
            }
        }
        throw new AssertionError(packageName + " has no place among the layers");
    }

    @Test
    void packagesUseThoseBeneath() {
        List<String> upward =
                MAIN.stream()
                        .flatMap(type -> type.getDirectDependenciesFromSelf().stream())
                        .filter(use -> use.getTargetClass().getPackageName().startsWith("org.jccl"))
                        .filter(
                                use ->
                                        layer(use.getOriginClass().getPackageName())
                                                < layer(use.getTargetClass().getPackageName()))
                        .map(Dependency::getDescription)
                        .toList();
        assertThat(upward).isEmpty();
    }

    @Test
    void packagesHaveNoCycle() {
        slices().matching("(**)").should().beFreeOfCycles().check(MAIN);
    }

    @Test
    void nativeCodeIsNotLoadedByInitialisingAClass() {
        assertThat(MAIN).isNotEmpty();
        for (JavaClass type : MAIN) {
            type.getStaticInitializer()
                    .ifPresent(
                            initializer ->
                                    assertThat(initializer.getMethodCallsFromSelf())
                                            .as("static initialiser of %s", type.getName())
                                            .noneMatch(
                                                    call ->
                                                            call.getTarget()
                                                                            .getName()
                                                                            .startsWith("load")
                                                                    && !call.getTargetOwner()
                                                                            .isEquivalentTo(
                                                                                    java.util
                                                                                            .ServiceLoader
                                                                                            .class)));
        }
    }

    @Test
    void internalPackagesAreNotExported() {
        // What our own modules share is exported to them by name.
        assertThat(exportsOf(API, "org.jccl.api"))
                .contains("org.jccl", "org.jccl.spi")
                .noneMatch(name -> name.contains("internal"));
        assertThat(exportsOf(STORE, "org.jccl.store"))
                .containsExactlyInAnyOrder("org.jccl.bootstrap", "org.jccl.store");
    }

    @Test
    void theEngineExportsNothing() {
        assertThat(exportsOf(ENGINE, "org.jccl.engine")).isEmpty();
    }

    /** Not the qualified ones. */
    private static List<String> exportsOf(Path classes, String module) {
        return ModuleFinder.of(classes).find(module).orElseThrow().descriptor().exports().stream()
                .filter(exports -> !exports.isQualified())
                .map(ModuleDescriptor.Exports::source)
                .toList();
    }

    @Test
    void noVendorIsNamedInCode() throws IOException {
        Path sources = Path.of("src", "main", "java");
        List<Path> files = new ArrayList<>();
        for (Path folder :
                List.of(
                        Path.of("../java-api").resolve(sources),
                        Path.of("../run/store").resolve(sources),
                        sources)) {
            try (Stream<Path> all = Files.walk(folder)) {
                all.filter(file -> file.toString().endsWith(".java"))
                        .filter(file -> !MPI.contains(file.getFileName().toString()))
                        .forEach(files::add);
            }
        }
        assertThat(files).hasSizeGreaterThan(200);
        for (Path file : files) {
            String code = COMMENT.matcher(Files.readString(file)).replaceAll("");
            Matcher vendor = VENDOR.matcher(code);
            assertThat(vendor.find())
                    .as("%s names a vendor in %s", file, around(code, vendor))
                    .isFalse();
        }
    }

    private static String around(String code, Matcher matcher) {
        matcher.reset();
        return matcher.find()
                ? code.substring(
                        Math.max(0, matcher.start() - 40),
                        Math.min(code.length(), matcher.end() + 40))
                : "";
    }
}
