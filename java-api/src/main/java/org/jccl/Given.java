package org.jccl;

/** What every argument of this package's values must be. */
final class Given {

    private Given() {}

    static <T> T notNull(T value, String name) {
        if (value == null) {
            throw new UsageException(FailureContext.NONE, name + " is null");
        }
        return value;
    }
}
