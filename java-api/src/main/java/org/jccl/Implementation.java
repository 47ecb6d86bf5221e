package org.jccl;

import java.util.Optional;
import java.util.ServiceLoader;

/**
 * Finds the {@link JcclProvider} with the class loader of this class, not with that of the thread.
 * The two belong together. In a container that gives each program a loader of its own, the loader
 * of a thread may find another copy of this library or none.
 */
final class Implementation {

    private static final Optional<JcclProvider> FOUND =
            ServiceLoader.load(JcclProvider.class, JcclProvider.class.getClassLoader()).stream()
                    .findFirst()
                    .map(Implementation::create);

    private Implementation() {}

    private static JcclProvider create(ServiceLoader.Provider<JcclProvider> found) {
        // On the class path the engine is in an unnamed module, which the qualified exports
        // exclude. It is there if a test runner puts only those modules on the module path that a
        // program requires.
        Module api = Implementation.class.getModule();
        Module engine = found.type().getModule();
        if (api.isNamed() && !engine.isNamed()) {
            api.getDescriptor().exports().stream()
                    .filter(exports -> exports.targets().contains("org.jccl.engine"))
                    .forEach(exports -> api.addExports(exports.source(), engine));
        }
        return found.get();
    }

    static JcclProvider get() {
        if (FOUND.isEmpty()) {
            throw new UsageException(
                    FailureContext.NONE,
                    "the implementation of this API is missing: add the artifact org.jccl:jccl-engine (module org.jccl.engine), on which each binding depends; if jars are merged into one, keep META-INF/services/%s"
                            .formatted(JcclProvider.class.getName()));
        }
        return FOUND.get();
    }
}
