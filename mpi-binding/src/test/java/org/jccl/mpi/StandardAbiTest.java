package org.jccl.mpi;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.jccl.Availability;
import org.jccl.mpi.ConformanceMain.SuiteRun;
import org.jccl.testing.Families;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.junit.jupiter.api.parallel.Resources;

/**
 * The shim for the standard ABI of MPI 5, on a library that speaks it and has MPICH behind it. Both
 * that library and a listing have the ABI's constants once more, so a wrong one cannot pass.
 */
@Execution(ExecutionMode.CONCURRENT)
@Timeout(600)
class StandardAbiTest {

    @TempDir static Path directory;

    /** What depends on the constants of the ABI, and with script/test --all the others too. */
    private static final String FAMILIES =
            "reductions | gathers | messages | mismatches | "
                    + System.getProperty("jccl.test.all", "any()");

    /** Constants do not depend on how many ranks there are, and MPICH's ranks poll. */
    private static final int RANKS = Families.ALL ? MpiConformanceTest.RANKS : 2;

    private static Path library;

    @BeforeAll
    static void build() throws Exception {
        library = build("libmpi_abi.so.1");
    }

    private static Path build(String name, String... options) throws Exception {
        List<String> all = new ArrayList<>(List.of(options));
        all.add("-I" + Gcc.SHIM.resolve("standard_abi"));
        return Gcc.library("test/mpi_abi.cc", directory.resolve(name), all.toArray(String[]::new));
    }

    private static List<String> jvmOptions() {
        return optionsFor(library);
    }

    private static List<String> optionsFor(Path named) {
        return List.of("-D" + MpiLibraries.PROPERTY + "=" + named);
    }

    private static Mpirun.Outcome run(int ranks, String... arguments) {
        Mpirun.MPICH.assumeInstalled();
        return Mpirun.MPICH.run(ranks, Mpirun.java(JobMain.class, jvmOptions(), arguments));
    }

    @Test
    void theHeaderAgreesWithTheListing() throws Exception {
        Path listing = Gcc.SHIM.resolve("test/standard_abi.c");
        Path headers = Gcc.SHIM.resolve("standard_abi");
        Gcc.run("gcc", "-fsyntax-only", "-Wall", "-I" + headers, listing.toString());
        String listed = Files.readString(listing);
        assertThat(
                        Pattern.compile("\\b(MPI_[A-Z0-9_]+) (=|\\(|[0-9])|^#define (MPI_\\w+)")
                                .matcher(Files.readString(headers.resolve("mpi.h")))
                                .results()
                                .map(StandardAbiTest::name))
                .hasSizeGreaterThan(40)
                .allSatisfy(name -> assertThat(listed).contains("SAME(" + name + ","));
    }

    private static String name(MatchResult constant) {
        return constant.group(1) != null ? constant.group(1) : constant.group(3);
    }

    @Test
    void aLibraryThatIsNamedFormsAWorld() {
        Mpirun.Outcome outcome = run(3, "sum");
        assertThat(outcome.code()).as(outcome.output()).isZero();
        assertThat(outcome.output()).contains("rank 0 of 3: sum 6", "rank 2 of 3: sum 6");
    }

    @Test
    void aLibraryThatTheProcessHasIsTaken() {
        Mpirun.MPICH.assumeInstalled();
        List<String> command = new ArrayList<>(List.of("env", "LD_PRELOAD=" + library));
        command.addAll(Mpirun.java(JobMain.class, List.of(), "library"));
        Mpirun.Outcome outcome = Mpirun.MPICH.run(1, command);
        assertThat(outcome.output()).contains("library Available[", "path=" + library);
    }

    @Test
    void errorsHaveTheirClasses() {
        assertThat(run(2, "truncated").output())
                .contains("MismatchException: group 'world', rank 1", "(error class 15)");
    }

    /** The calls that block have a thread of their own. */
    @Test
    void aLibraryForOneThreadAtATimeIsRejected() throws Exception {
        Mpirun.MPICH.assumeInstalled();
        Path serialized = build("libmpi_abi.so.3", "-DTHREAD_LEVEL=2");
        Mpirun.Outcome outcome =
                Mpirun.MPICH.run(2, Mpirun.java(JobMain.class, optionsFor(serialized), "sum"));
        assertThat(outcome.output())
                .contains("MPI was initialised with MPI_THREAD_SERIALIZED, but several threads")
                .doesNotContain("of 2: sum");
    }

    @Test
    @ResourceLock(Resources.SYSTEM_PROPERTIES)
    void anAbiThatIsNotKnownIsRefused() throws Exception {
        Path unknown = build("libmpi_abi.so.2", "-DABI_MAJOR=2");
        System.setProperty(MpiLibraries.PROPERTY, unknown.toString());
        try {
            Availability answer = new MpiProvider().availability();
            assertThat(((Availability.Unavailable) answer).tried())
                    .singleElement()
                    .asString()
                    .contains(unknown.toString(), "version 2.0 of the standard ABI");
        } finally {
            System.clearProperty(MpiLibraries.PROPERTY);
        }
    }

    @Test
    void conforms() throws Exception {
        MpiConformanceTest.conforms(
                Mpirun.MPICH,
                RANKS,
                List.of(),
                jvmOptions(),
                "cpu",
                SuiteRun.of(FAMILIES),
                SuiteRun.checkedOf(FAMILIES));
    }
}
