package org.jccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.module.Configuration;
import java.lang.module.ModuleFinder;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.Collections;
import java.util.Enumeration;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** How the implementation is found where programs have class loaders of their own. */
class ImplementationTest {

    private static final String SERVICES = "META-INF/services/org.jccl.JcclProvider";

    private final ClassLoader before = Thread.currentThread().getContextClassLoader();

    @AfterEach
    void restore() {
        Thread.currentThread().setContextClassLoader(before);
    }

    private static URI classes() throws Exception {
        return Tensor.class.getProtectionDomain().getCodeSource().getLocation().toURI();
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
        try (URLClassLoader program = new URLClassLoader(new URL[] {classes().toURL()}, nothing)) {
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
                        .resolve(
                                ModuleFinder.of(Path.of(classes())),
                                ModuleFinder.of(),
                                Set.of("org.jccl.api"));
        ClassLoader parent = ClassLoader.getPlatformClassLoader();
        ClassLoader loader =
                boot.defineModulesWithOneLoader(configuration, parent).findLoader("org.jccl.api");
        Thread.currentThread().setContextClassLoader(parent);
        Object tensor = tensor(loader);
        assertThat(tensor.getClass().getModule().getName()).isEqualTo("org.jccl.api");
        assertThat(tensor.getClass().getClassLoader()).isSameAs(loader);
    }

    /** As when jars were merged without what is in META-INF. */
    @Test
    void whatIsMissingIsNamedEachTime() throws Exception {
        ClassLoader parent = ClassLoader.getPlatformClassLoader();
        try (URLClassLoader program =
                new URLClassLoader(new URL[] {classes().toURL()}, parent) {
                    @Override
                    public Enumeration<URL> findResources(String name) throws java.io.IOException {
                        return name.equals(SERVICES)
                                ? Collections.emptyEnumeration()
                                : super.findResources(name);
                    }
                }) {
            for (int i = 0; i < 2; i++) {
                assertThatThrownBy(() -> tensor(program))
                        .hasToString(
                                "org.jccl.UsageException: the implementation of this API is missing: %s of jccl-api cannot be read; if jars are merged into one, keep the files in META-INF/services"
                                        .formatted(SERVICES));
            }
        }
    }
}
