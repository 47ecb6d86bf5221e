package org.jccl.mpi;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * What ranks get whose calls differ, without options: an exception, or one of the differences that
 * the documentation names as not noticed. Writes a table of it to {@code target}.
 */
@Execution(ExecutionMode.CONCURRENT)
@Timeout(600)
@Tag("nightly")
class MpiMismatchTest {

    private static final Pattern LINE = Pattern.compile("case (.+ of \\d+): \\d+ (\\w+)");

    /** A number of elements that Open MPI's ranks compare. */
    private static final String LONG = " of 100000";

    /** The differences after which a rank may get wrong data and no exception: see mpi.md. */
    private static final Set<String> NOT_NOTICED =
            Set.of(
                    "count",
                    "type",
                    "operation",
                    "root",
                    "count of allGather",
                    "count of allToAll",
                    "count of reduceScatter",
                    "operation of reduceScatter",
                    "barrier for allReduce",
                    "broadcast for allReduce",
                    "broadcast left out before allReduce");

    @ParameterizedTest
    @CsvSource({"OPEN_MPI, 2", "OPEN_MPI, 4", "MPICH, 2", "MPICH, 4"})
    void differencesAreExceptionsOrNamedAsNotNoticed(Mpirun mpirun, int ranks) throws Exception {
        mpirun.assumeInstalled();
        StringBuilder table = new StringBuilder();
        for (String operation : MismatchMain.CASES.keySet()) {
            Mpirun.Outcome outcome = mpirun.run(ranks, MismatchMain.class, operation);
            Map<String, List<String>> cases = new TreeMap<>();
            Matcher line = LINE.matcher(outcome.output());
            while (line.find()) {
                cases.computeIfAbsent(line.group(1), name -> new ArrayList<>()).add(line.group(2));
            }
            assertThat(cases)
                    .as(outcome.output())
                    .hasSize(2 * MismatchMain.CASES.get(operation).size());
            cases.forEach(
                    (name, ends) -> {
                        table.append(operation + ", " + name + ": " + ends + "\n");
                        assertThat(ends).as("%s, %s", operation, name).hasSize(ranks);
                        if (mpirun == Mpirun.OPEN_MPI && name.endsWith(LONG)) {
                            assertThat(ends)
                                    .as("%s, %s", operation, name)
                                    .doesNotContain("WRONG", "right");
                        } else if (ends.contains("WRONG")) {
                            assertThat(NOT_NOTICED)
                                    .as("%s, %s: %s", operation, name, ends)
                                    .contains(name.replaceFirst(" of \\d+$", ""));
                        }
                    });
        }
        Files.writeString(
                Path.of("target", "mismatches-" + mpirun + "-" + ranks + ".txt"), table.toString());
    }
}
