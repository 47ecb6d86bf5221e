package org.jccl;

import java.util.Optional;
import java.util.ServiceLoader;

/**
 * Finds the {@link JcclProvider} with the class loader of this class, not with the thread's. In a
 * container with one loader per program, the thread's loader may find another copy of this library,
 * or none.
 */
final class Implementation {

    private static final Optional<JcclProvider> FOUND =
            ServiceLoader.load(JcclProvider.class, JcclProvider.class.getClassLoader()).stream()
                    .findFirst()
                    .map(Implementation::create);

    private Implementation() {}

    private static JcclProvider create(ServiceLoader.Provider<JcclProvider> found) {
        // On the class path the engine is in an unnamed module, which the qualified exports
        // exclude. This happens if a test runner puts only the required modules on the module path.
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
