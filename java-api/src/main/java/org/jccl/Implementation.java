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
            ServiceLoader.load(JcclProvider.class, JcclProvider.class.getClassLoader()).findFirst();

    private Implementation() {}

    static JcclProvider get() {
        if (FOUND.isEmpty()) {
            throw new UsageException(
                    FailureContext.NONE,
                    "the implementation of this API is missing: META-INF/services/%s of jccl-api cannot be read; if jars are merged into one, keep the files in META-INF/services"
                            .formatted(JcclProvider.class.getName()));
        }
        return FOUND.get();
    }
}
