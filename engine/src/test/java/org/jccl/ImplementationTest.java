package org.jccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.File;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.module.Configuration;
import java.lang.module.ModuleFinder;
import java.net.URISyntaxException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Collections;
import java.util.Enumeration;
import java.util.Set;
import org.jccl.internal.api.DefaultProvider;
import org.jccl.internal.api.ModuleReport;
import org.jccl.store.TcpStore;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** How the implementation is found where programs have class loaders of their own. */
class ImplementationTest {

    private static final String SERVICES = "META-INF/services/org.jccl.JcclProvider";

    private static final String MISSING =
            "org.jccl.UsageException: the implementation of this API is missing: add the artifact org.jccl:jccl-engine (module org.jccl.engine), on which each binding depends; if jars are merged into one, keep "
                    + SERVICES;

    private final ClassLoader before = Thread.currentThread().getContextClassLoader();

    @AfterEach
    void restore() {
        Thread.currentThread().setContextClassLoader(before);
    }

    private static URL classesOf(Class<?> type) {
        return type.getProtectionDomain().getCodeSource().getLocation();
    }

    private static Path pathTo(Class<?> type) throws URISyntaxException {
        return Path.of(classesOf(type).toURI());
    }

    private static URL[] apiAndEngine() {
        return new URL[] {
            classesOf(Tensor.class), classesOf(TcpStore.class), classesOf(DefaultProvider.class)
        };
    }

    /** Not by reflection, which would look for JavaCPP's classes too. */
    private static Object tensor(ClassLoader loader) throws Throwable {
        Class<?> type = loader.loadClass("org.jccl.Tensor");
        return MethodHandles.publicLookup()
                .findStatic(type, "copyOf", MethodType.methodType(type, Object.class))
                .invoke(new float[] {1, 2});
    }

    /** As in containers that give each program a loader; the thread's is another program's. */
    @Test
    void theThreadsLoaderDoesNotMatter() throws Throwable {
        ClassLoader nothing = ClassLoader.getPlatformClassLoader();
        try (URLClassLoader program = new URLClassLoader(apiAndEngine(), nothing)) {
            for (ClassLoader context : new ClassLoader[] {nothing, null, before}) {
                Thread.currentThread().setContextClassLoader(context);
                Object tensor = tensor(program);
                assertThat(tensor).hasToString("float32 x 2 on cpu");
                assertThat(tensor.getClass().getClassLoader()).isSameAs(program);
            }
        }
    }

    @Test
    void aModuleLayerHasItsOwn() throws Throwable {
        ModuleLayer boot = ModuleLayer.boot();
        Configuration configuration =
                boot.configuration()
                        .resolveAndBind(
                                ModuleFinder.of(
                                        pathTo(Tensor.class),
                                        pathTo(TcpStore.class),
                                        pathTo(DefaultProvider.class)),
                                ModuleFinder.of(),
                                Set.of("org.jccl.api"));
        ClassLoader parent = ClassLoader.getPlatformClassLoader();
        ClassLoader loader =
                boot.defineModulesWithOneLoader(configuration, parent).findLoader("org.jccl.api");
        Thread.currentThread().setContextClassLoader(parent);
        Object tensor = tensor(loader);
        assertThat(tensor.getClass().getModule().getName()).isEqualTo("org.jccl.engine");
        assertThat(tensor.getClass().getClassLoader()).isSameAs(loader);
    }

    /** A test runner puts on the module path only what a program's module requires. */
    @Test
    void anApiOfTheModulePathUsesAnEngineOfTheClassPath() throws Exception {
        Process process =
                new ProcessBuilder(
                                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                                "-p",
                                pathTo(Tensor.class).toString(),
                                "--add-modules",
                                "org.jccl.api",
                                "-cp",
                                pathTo(DefaultProvider.class)
                                        + File.pathSeparator
                                        + pathTo(TcpStore.class)
                                        + File.pathSeparator
                                        + pathTo(ImplementationTest.class),
                                ModuleReport.class.getName())
                        .redirectError(ProcessBuilder.Redirect.INHERIT)
                        .start();
        assertThat(new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8))
                .isEqualToNormalizingNewlines("float32 x 1 on cpu, false, module org.jccl.api\n");
    }

    /** As for a program that depends on the API and on no binding. */
    @Test
    void theArtifactOfAMissingEngineIsNamed() throws Exception {
        ClassLoader parent = ClassLoader.getPlatformClassLoader();
        try (URLClassLoader program =
                new URLClassLoader(new URL[] {classesOf(Tensor.class)}, parent)) {
            assertThatThrownBy(() -> tensor(program)).hasToString(MISSING);
        }
    }

    /** As when jars were merged without what is in META-INF. */
    @Test
    void whatIsMissingIsNamedEachTime() throws Exception {
        ClassLoader parent = ClassLoader.getPlatformClassLoader();
        try (URLClassLoader program =
                new URLClassLoader(apiAndEngine(), parent) {
                    @Override
                    public Enumeration<URL> findResources(String name) throws java.io.IOException {
                        return name.equals(SERVICES)
                                ? Collections.emptyEnumeration()
                                : super.findResources(name);
                    }
                }) {
            for (int i = 0; i < 2; i++) {
                assertThatThrownBy(() -> tensor(program)).hasToString(MISSING);
            }
        }
    }
}
