package org.jccl;

import java.util.Optional;
import java.util.ServiceLoader;

/**
 * Finds the one {@link JcclProvider}. By the loader of this class and not by the thread's: the two
 * belong together, and where a container gives each program a loader of its own, a thread's may
 * have another copy of this library or none.
 */
final class Implementation {

    private static final Optional<JcclProvider> FOUND =
            ServiceLoader.load(JcclProvider.class, JcclProvider.class.getClassLoader()).findFirst();

    private Implementation() {}

    static JcclProvider get() {
        if (FOUND.isEmpty()) {
            throw new UsageException(
                    FailureContext.NONE,
                    "the implementation of this API is not there: META-INF/services/%s of jccl-api can not be read; when jars are merged into one, keep what is in META-INF/services"
                            .formatted(JcclProvider.class.getName()));
        }
        return FOUND.get();
    }
}
