package org.jccl.bootstrap;

import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.ServiceLoader;
import org.jccl.BootstrapException;
import org.jccl.FailureContext;
import org.jccl.bootstrap.RankTableSource.LocalRank;

/** The rank table of this process, if a variable names one. */
final class RankTables {

    static final String VARIABLE = "RANK_TABLE_FILE";

    private RankTables() {}

    private static Optional<String> named(Map<String, String> environment) {
        return Optional.ofNullable(environment.get(VARIABLE)).filter(file -> !file.isBlank());
    }

    private static Optional<RankTableSource> source() {
        return ServiceLoader.load(RankTableSource.class).findFirst();
    }

    /** Waits for the table. Other problems of a table are reported when it is read. */
    static void await(Map<String, String> environment, Duration timeout) {
        Optional<String> file = named(environment);
        if (file.isPresent() && !timeout.isNegative()) {
            try {
                Path path = Path.of(file.get());
                source().ifPresent(tables -> tables.awaitCompleted(path, timeout));
            } catch (InvalidPathException e) {
                return;
            }
        }
    }

    /**
     * Reads the table.
     *
     * @throws org.jccl.JcclException if the table is not valid, or there is no {@link
     *     RankTableSource}
     */
    static Optional<List<LocalRank>> read(Map<String, String> environment) {
        return named(environment)
                .map(file -> source().orElseThrow(RankTables::noReader).read(file));
    }

    private static BootstrapException noReader() {
        return new BootstrapException(
                FailureContext.NONE,
                "%s names a rank table, but no reader for it is on the class path or module path: add the artifact org.jccl:jccl-ranktable (a fat jar must merge META-INF/services), or unset the variable"
                        .formatted(VARIABLE));
    }
}
