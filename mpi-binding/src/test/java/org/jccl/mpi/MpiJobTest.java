package org.jccl.mpi;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jccl.testing.Families;
import org.jccl.testing.StuckCalls;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Jobs as users start them, under both launchers: no environment of ours, and what can go wrong.
 */
@Execution(ExecutionMode.CONCURRENT)
@Timeout(600)
@Tag("all")
class MpiJobTest {

    private static final String DEBIAN_MPICH =
            "/usr/lib/"
                    + System.getProperty("os.arch").replace("amd64", "x86_64")
                    + "-linux-gnu/libmpich.so.12";

    /** As most programs: its calls block. */
    private static final String C_PROGRAM =
            """
            #include <mpi.h>
            #include <stdio.h>
            int main(int argc, char** argv) {
              static int many[100000];
              int rank, level, value, root, sum, again;
              MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
              MPI_Comm_rank(MPI_COMM_WORLD, &rank);
              value = rank + 1;
              root = rank + 7;
              for (int i = 0; i < 100000; i++) {
                many[i] = value;
              }
              MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
              MPI_Allreduce(&value, &again, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
              MPI_Allreduce(MPI_IN_PLACE, many, 100000, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
              MPI_Bcast(&root, 1, MPI_INT, 0, MPI_COMM_WORLD);
              MPI_Barrier(MPI_COMM_WORLD);
              printf("C sums %d %d %d from 0 %d\\n", sum, again, many[99999], root);
              MPI_Finalize();
              return 0;
            }
            """;

    private static final String PYTHON_PROGRAM =
            """
            import array
            from mpi4py import MPI
            world = MPI.COMM_WORLD
            sums = []
            for count in [1, 1, 100000]:
                value = array.array('i', [world.Get_rank() + 1]) * count
                total = array.array('i', [0]) * count
                world.Allreduce([value, MPI.INT], [total, MPI.INT], op=MPI.SUM)
                sums.append(total[-1])
            root = array.array('i', [world.Get_rank() + 7])
            world.Bcast([root, MPI.INT], root=0)
            world.Barrier()
            print('Python sums', *sums, 'from 0', root[0], flush=True)
            """;

    @TempDir static Path libraries;

    /** Has calls of MPI fail. */
    private static Path failing;

    @BeforeAll
    static void build() throws Exception {
        failing = Gcc.library("test/fails.cc", libraries.resolve("fails.so"), "-ldl");
    }

    @ParameterizedTest
    @EnumSource
    void theLauncherIsEnoughToFormAWorld(Mpirun mpirun) {
        mpirun.assumeInstalled();
        for (int ranks = 1; ranks <= 3; ranks++) {
            Mpirun.Outcome outcome = mpirun.run(ranks, JobMain.class, "sum");
            assertThat(outcome.code()).as(outcome.output()).isZero();
            for (int rank = 0; rank < ranks; rank++) {
                int sum = ranks * (ranks + 1) / 2;
                assertThat(outcome.output())
                        .contains("rank " + rank + " of " + ranks + ": sum " + sum);
            }
        }
    }

    /** MPI matches no call that blocks with one that does not. */
    @ParameterizedTest
    @EnumSource
    void aRankThatWaitsMatchesOneThatDoesNot(Mpirun mpirun) {
        mpirun.assumeInstalled();
        Mpirun.Outcome outcome = mpirun.run(2, JobMain.class, "mixed");
        assertThat(outcome.code()).as(outcome.output()).isZero();
        for (int rank = 0; rank < 2; rank++) {
            for (int count : new int[] {1, 100_000, 1_000_000}) {
                assertThat(outcome.output())
                        .contains("rank " + rank + ": " + count + " elements, ");
            }
        }
    }

    @ParameterizedTest
    @CsvSource({
        "OPEN_MPI, asynchronous",
        "OPEN_MPI, trusted",
        "MPICH, asynchronous",
        "MPICH, trusted",
    })
    void whatIsIssuedWaitsForNobody(Mpirun mpirun, String job) {
        mpirun.assumeInstalled();
        Mpirun.Outcome outcome = mpirun.run(2, JobMain.class, job);
        assertThat(outcome.code()).as(outcome.output()).isZero();
        assertThat(outcome.output())
                .contains("messages 11 12", "rank 0: sums 2 2", "rank 1: sums 2 2");
    }

    @ParameterizedTest
    @EnumSource
    void aProgressThreadMovesDataWhileNobodyCallsMpi(Mpirun mpirun) {
        mpirun.assumeInstalled();
        Mpirun.Outcome outcome = mpirun.run(2, JobMain.class, "overlap");
        assertThat(outcome.code()).as(outcome.output()).isZero();
        assertThat(outcome.output()).contains("rank 1: moved true");
    }

    @ParameterizedTest
    @EnumSource
    void aRankThatComputesLetsTheSendsToItEnd(Mpirun mpirun, @TempDir Path directory) {
        mpirun.assumeInstalled();
        String answered = directory.resolve("answered").toString();
        Mpirun.Outcome outcome = mpirun.run(2, JobMain.class, "computing", answered);
        assertThat(outcome.code()).as(outcome.output()).isZero();
        assertThat(outcome.output()).contains("rank 0: the send ended true");
    }

    @ParameterizedTest
    @EnumSource
    void aRankThatWaitsForLongLeavesItsCoreToOthers(Mpirun mpirun) {
        mpirun.assumeInstalled();
        Mpirun.Outcome outcome = mpirun.run(2, JobMain.class, "waiting");
        assertThat(outcome.code()).as(outcome.output()).isZero();
        assertThat(outcome.output()).contains("got 5, the core was free: true");
    }

    @ParameterizedTest
    @EnumSource
    void aNullDereferenceStaysAnException(Mpirun mpirun) {
        mpirun.assumeInstalled();
        Mpirun.Outcome outcome = mpirun.run(2, JobMain.class, "null");
        assertThat(outcome.code()).as(outcome.output()).isZero();
        assertThat(outcome.output()).contains("rank 0 caught it", "rank 1 caught it");
    }

    @ParameterizedTest
    @EnumSource
    void aMessageOfAnotherLengthIsAMismatch(Mpirun mpirun) {
        mpirun.assumeInstalled();
        Mpirun.Outcome outcome = mpirun.run(2, JobMain.class, "truncated");
        assertThat(outcome.output())
                .contains("from rank 0 has 7 bytes, not 2 elements of 4 bytes")
                .contains("MismatchException: group 'world', rank 1, operation 0 recv(int32 x 2");
    }

    /** MPICH takes what fits by itself. */
    @ParameterizedTest
    @EnumSource(names = "OPEN_MPI")
    void aMessageThatIsLargerThanMemoryIsAMismatchOfItsOwnGroup(Mpirun mpirun) {
        mpirun.assumeInstalled();
        Mpirun.Outcome outcome = mpirun.run(2, JobMain.class, "endless");
        assertThat(outcome.output())
                .contains("other group: 5")
                .contains("MismatchException: group 'world', rank 1, operation 0 recv(int32 x");
    }

    /**
     * Open MPI by itself writes past the end of the shorter side's memory if the longer side sends
     * more than 4 KB. Either rank may notice first; the other one then reports what that one found.
     */
    @ParameterizedTest
    @CsvSource({"OPEN_MPI, 100", "OPEN_MPI, 2000", "MPICH, 100", "MPICH, 2000"})
    void ranksThatDisagreeAboutCountsHarmNoMemory(Mpirun mpirun, String few) {
        mpirun.assumeInstalled();
        Mpirun.Outcome outcome = mpirun.run(2, JobMain.class, "counts", few);
        assertThat(outcome.output())
                .contains("rank 0: org.jccl.MismatchException: group 'world/0,1', rank 0")
                .contains("rank 0 is alive", "rank 1 is alive")
                .doesNotContain("OVERWRITTEN");
    }

    @ParameterizedTest
    @EnumSource
    void ranksThatDisagreeAboutTheRootEndInExceptions(Mpirun mpirun) {
        mpirun.assumeInstalled();
        Mpirun.Outcome outcome = mpirun.run(2, JobMain.class, "root");
        assertThat(outcome.output())
                .contains("rank 0: UsageException", "rank 1: UsageException")
                .contains("rank 0 stuck: MismatchException", "rank 1 stuck: MismatchException");
    }

    @ParameterizedTest
    @CsvSource({
        "OPEN_MPI, reduction",
        "OPEN_MPI, skipped",
        "OPEN_MPI, skippedBeforeLong",
        "MPICH, reduction",
        "MPICH, skipped",
    })
    void ranksThatIssueOtherCallsEndInExceptions(Mpirun mpirun, String job) {
        mpirun.assumeInstalled();
        Mpirun.Outcome outcome = mpirun.run(2, JobMain.class, job);
        assertThat(outcome.output())
                .contains("rank 0 stuck: MismatchException", "rank 1 stuck: MismatchException");
    }

    /** Open MPI waits for the other rank instead of crashing. */
    @ParameterizedTest
    @EnumSource(names = "MPICH")
    void aRankThatExitsWhileItMakesAGroupEndsTheJob(Mpirun mpirun) {
        mpirun.assumeInstalled();
        Mpirun.Outcome outcome = mpirun.run(2, JobMain.class, "forming");
        assertThat(outcome.output()).contains("rank 0 exits").doesNotContain("signal", "Assertion");
        assertThat(outcome.code()).isEqualTo(3);
    }

    @ParameterizedTest
    @EnumSource
    void aRankThatMakesAGroupAloneIsToldSo(Mpirun mpirun) {
        mpirun.assumeInstalled();
        assertThat(mpirun.run(2, JobMain.class, "late").output())
                .contains("rank 0: ", "OperationTimeoutException", "rank 1 is through")
                .contains("MPI did not form the communicator within 8 s");
    }

    @ParameterizedTest
    @EnumSource
    void whatAClosedGroupLeftBehindArrivesInNoOther(Mpirun mpirun) {
        mpirun.assumeInstalled();
        Mpirun.Outcome abandoned = mpirun.run(3, JobMain.class, "abandoned");
        assertThat(abandoned.output()).contains("rank 0: sum 4", "rank 2: sum 4");
        Mpirun.Outcome unreceived = mpirun.run(3, JobMain.class, "unreceived");
        assertThat(unreceived.output()).contains("rank 0: got 7", "rank 2: got 7");
    }

    @ParameterizedTest
    @EnumSource
    void groupsComeAndGoWithoutMixing(Mpirun mpirun) {
        mpirun.assumeInstalled();
        for (int spoilt : Families.ALL ? new int[] {0, 30} : new int[] {30}) {
            Mpirun.Outcome outcome =
                    mpirun.run(3, ChurnMain.class, "150", Integer.toString(spoilt));
            assertThat(outcome.output())
                    .contains("rank 0 made 150", "rank 1 made 150", "rank 2 made 150")
                    .doesNotContain("WRONG");
        }
    }

    /**
     * More groups than MPICH has communicators left: it has 2048 at a time. Open MPI has 65536, of
     * which a job would take minutes.
     */
    private static final int MANY_GROUPS = 300;

    private static final String MANY_TAKEN = "TAKEN_COMMUNICATORS=1900";

    @ParameterizedTest
    @EnumSource
    void communicatorsOfClosedGroupsAreUsedAgain(Mpirun mpirun) {
        String groups = Integer.toString(MANY_GROUPS);
        Mpirun.Outcome outcome =
                runWithFailures(mpirun, List.of(MANY_TAKEN), ChurnMain.class, groups, "0");
        assertThat(outcome.code()).as(outcome.output()).isZero();
        assertThat(outcome.output()).contains("rank 0 made " + MANY_GROUPS).doesNotContain("WRONG");
    }

    private static Mpirun.Outcome runWithFailures(
            Mpirun mpirun, List<String> failures, String... job) {
        return runWithFailures(mpirun, failures, JobMain.class, job);
    }

    /** The calls of other threads return, whatever a thread does that never leaves MPI. */
    @ParameterizedTest
    @CsvSource({
        "OPEN_MPI, allReduce, STUCK_ALLREDUCE",
        "MPICH, allReduce, STUCK_ALLREDUCE",
        "OPEN_MPI, send, STUCK_ISEND",
        "MPICH, send, STUCK_ISEND"
    })
    void aCallThatNeverReturnsHoldsNobodyUp(Mpirun mpirun, String method, String fault) {
        Mpirun.Outcome outcome =
                runWithFailures(mpirun, List.of(fault + "=" + JobMain.STUCK), "stuck", method);
        assertThat(outcome.output()).contains(StuckCalls.ALL_RETURNED);
    }

    /** The group's thread stays in its call, and nothing waits for it afterwards. */
    @ParameterizedTest
    @EnumSource
    void aCallThatBlocksIsLeftAtItsDeadline(Mpirun mpirun) {
        List<String> failures = List.of("STUCK_ALLREDUCE=" + JobMain.STUCK);
        Mpirun.Outcome outcome = runWithFailures(mpirun, failures, "left");
        for (int rank = 0; rank < 2; rank++) {
            String start = "rank " + rank + ", ";
            assertThat(outcome.output())
                    .contains(start + "abort: returned", start + "close: returned")
                    .containsPattern(start + "call: [A-Za-z]*Exception: .*allReduce")
                    .containsPattern(start + "later: [A-Za-z]*Exception: ")
                    .containsPattern(start + "other: [A-Za-z]*Exception: ");
        }
        assertThat(outcome.output()).contains("call: OperationTimeoutException");
    }

    /** The thread cannot be freed, so the message comes before the end. */
    @ParameterizedTest
    @EnumSource
    void aSynchronousCallEndsTheJobAtItsDeadline(Mpirun mpirun) {
        mpirun.assumeInstalled();
        Mpirun.Outcome outcome = mpirun.run(2, JobMain.class, "deadline");
        assertThat(outcome.output())
                .contains("the job ends with exit code 75", "inside a synchronous allReduce")
                .contains("OperationTimeoutException: group 'world', rank 0, operation 0 allReduce")
                .contains("not complete after", "rank 1 has reported no stuck operation")
                .doesNotContain("call: ");
        assertThat(outcome.code()).as(outcome.output()).isEqualTo(75);
    }

    @ParameterizedTest
    @EnumSource
    void aCheckedCallThrowsAtItsDeadline(Mpirun mpirun) {
        mpirun.assumeInstalled();
        Mpirun.Outcome outcome = mpirun.run(2, JobMain.class, "checkedDeadline");
        assertThat(outcome.output()).contains("call: OperationTimeoutException: group 'world'");
        assertThat(outcome.code()).as(outcome.output()).isNotZero();
    }

    @ParameterizedTest
    @EnumSource
    void anAbortEndsTheJobOfAThreadThatIsInside(Mpirun mpirun) {
        mpirun.assumeInstalled();
        Mpirun.Outcome outcome = mpirun.run(2, JobMain.class, "otherFailure");
        assertThat(outcome.output())
                .contains("the job ends with exit code 75", "inside a synchronous barrier")
                .contains("abort() was called");
        assertThat(outcome.code()).as(outcome.output()).isEqualTo(75);
    }

    /** The other rank would wait for it until its deadline. */
    @ParameterizedTest
    @CsvSource({
        "OPEN_MPI, throw, 1",
        "OPEN_MPI, memory, 1",
        "OPEN_MPI, exit, 3",
        "OPEN_MPI, halt, 5",
        "MPICH, throw, 1",
        "MPICH, memory, 1",
        "MPICH, exit, 3",
        "MPICH, halt, 5",
    })
    void aRankThatEndsWithoutClosingItsGroupEndsTheJob(Mpirun mpirun, String how, int code) {
        mpirun.assumeInstalled();
        Mpirun.Outcome outcome = mpirun.run(2, JobMain.class, "ends", how);
        assertThat(outcome.output())
                .contains("this process exits with code " + code + " and an open group")
                .doesNotContain("call: ");
        assertThat(outcome.code()).as(outcome.output()).isEqualTo(code);
    }

    @ParameterizedTest
    @EnumSource
    void ranksThatAllReturnWithoutClosingTheirGroupEndWell(Mpirun mpirun) {
        mpirun.assumeInstalled();
        Mpirun.Outcome outcome = mpirun.run(2, JobMain.class, "ends", "all");
        assertThat(outcome.output()).contains("rank 0 returns", "rank 1 returns");
        assertThat(outcome.code()).as(outcome.output()).isZero();
    }

    @ParameterizedTest
    @EnumSource
    void aRankThatWaitsInACollectiveReceives(Mpirun mpirun) {
        mpirun.assumeInstalled();
        Mpirun.Outcome outcome = mpirun.run(2, JobMain.class, "receives");
        assertThat(outcome.code()).as(outcome.output()).isZero();
        assertThat(outcome.output())
                .contains("rank 0 is through", "rank 1 is through")
                .doesNotContain("WRONG");
    }

    @ParameterizedTest
    @EnumSource
    void callsHaveOneOrderWhicheverThreadMakesThem(Mpirun mpirun) {
        mpirun.assumeInstalled();
        Mpirun.Outcome outcome = mpirun.run(2, JobMain.class, "order");
        assertThat(outcome.code()).as(outcome.output()).isZero();
        assertThat(outcome.output())
                .contains("rank 0: sum 2", "rank 1: sum 2")
                .doesNotContain("WRONG");
    }

    /** Works of a shared world have a deadline too. */
    @ParameterizedTest
    @EnumSource
    void aCallOfASharedWorldHasADeadline(Mpirun mpirun) {
        mpirun.assumeInstalled();
        assertThat(mpirun.run(2, JobMain.class, "sharedAlone").output())
                .contains("call: OperationTimeoutException", "close: returned");
    }

    private static Mpirun.Outcome runWithFailures(
            Mpirun mpirun, List<String> failures, Class<?> main, String... job) {
        mpirun.assumeInstalled();
        List<String> command = new ArrayList<>(List.of("env", "LD_PRELOAD=" + failing));
        command.addAll(failures);
        command.addAll(Mpirun.java(main, List.of(), job));
        return mpirun.run(2, command);
    }

    @ParameterizedTest
    @EnumSource
    void aGroupThatCanNotBeMadeKeepsNoCommunicator(Mpirun mpirun) {
        String groups = Integer.toString(MANY_GROUPS);
        // MPI_COMM_WORLD, MPI_COMM_SELF, its copy for progress and both of the world come first.
        List<String> failures =
                List.of(
                        MANY_TAKEN,
                        "FAIL_ERRHANDLER_FROM=5",
                        "FAIL_ERRHANDLER_TO=" + (MANY_GROUPS + 5));
        Mpirun.Outcome outcome = runWithFailures(mpirun, failures, "unmade", groups);
        assertThat(outcome.output())
                .contains("rank 0: sum 3", "rank 1: sum 3", "MPI_Comm_set_errhandler")
                .doesNotContain("made");
        assertThat(outcome.code()).as(outcome.output()).isZero();
    }

    /** Ranks that believed to be the same one would all serve stores. */
    @ParameterizedTest
    @EnumSource
    void aRankThatIsNotToldWhichOneItIsSaysSo(Mpirun mpirun) {
        List<String> failures = List.of("FAIL_COMM_RANK=1");
        Mpirun.Outcome outcome = runWithFailures(mpirun, failures, "sum");
        assertThat(outcome.output())
                .contains("NativeException: MPI failed with code 6: MPI: MPI_Comm_rank")
                .doesNotContain("of 2: sum");
    }

    @ParameterizedTest
    @EnumSource
    void aClosedGroupThatCanNotBeFreedIsNoFailureOfTheNextOne(Mpirun mpirun) {
        List<String> failures = List.of("FAIL_COMM_FREE=1");
        Mpirun.Outcome outcome = runWithFailures(mpirun, failures, "regrouped");
        assertThat(outcome.output()).contains("rank 0 made them", "rank 1 made them");
    }

    @ParameterizedTest
    @EnumSource
    void aProgressThreadThatCanNotStartSaysWhy(Mpirun mpirun) {
        List<String> failures = List.of("FAIL_COMM_DUP=1");
        Mpirun.Outcome outcome = runWithFailures(mpirun, failures, "progress");
        assertThat(outcome.output())
                .contains("NativeException", "MPI_Comm_dup")
                .doesNotContain("of 2: sum");
    }

    @ParameterizedTest
    @EnumSource
    void aProcessWhoseProgressThreadCanNotTakeItsMessageBackEnds(Mpirun mpirun) {
        List<String> failures = List.of("FAIL_CANCEL=1");
        Mpirun.Outcome outcome = runWithFailures(mpirun, failures, "progress");
        assertThat(outcome.output()).contains("rank 0 of 2: sum 3", "rank 1 of 2: sum 3");
    }

    @ParameterizedTest
    @EnumSource
    void theLauncherEndsAJobWithADeadRank(Mpirun mpirun) {
        mpirun.assumeInstalled();
        Mpirun.Outcome outcome = mpirun.run(2, JobMain.class, "killed");
        // MPICH 4.2's mpirun now and then returns 0, also for C programs.
        if (mpirun != Mpirun.MPICH) {
            assertThat(outcome.code()).as(outcome.output()).isNotZero();
        }
        assertThat(outcome.output()).contains("rank 1 dies").doesNotContain("survived");
    }

    @ParameterizedTest
    @EnumSource
    void aProcessCanNotBeTwoRanks(Mpirun mpirun) {
        mpirun.assumeInstalled();
        Mpirun.Outcome outcome = mpirun.run(1, JobMain.class, "threads");
        assertThat(outcome.output())
                .contains("UsageException")
                .contains("ranks 0 and 1 are both process 0 of MPI")
                .doesNotContain("joined");
    }

    @ParameterizedTest
    @EnumSource
    void javaAndCAreOneWorld(Mpirun mpirun, @TempDir Path directory) throws Exception {
        mpirun.assumeInstalled();
        Path source = directory.resolve("rank.c");
        Path program = directory.resolve("rank");
        Files.writeString(source, C_PROGRAM);
        String compiler = mpirun == Mpirun.MPICH ? "mpicc.mpich" : "mpicc.openmpi";
        Gcc.run(compiler, source.toString(), "-o", program.toString());
        Mpirun.Outcome outcome = runBeside(mpirun, List.of(program.toString()), "shared");
        assertThat(outcome.output())
                .contains("C sums 6 6 6 from 0 7", "rank 1 of 3: sums 6 6 6 from 0 7");
    }

    /** As the documentation starts them, where the launcher can. */
    @ParameterizedTest
    @EnumSource
    void twoProgramsOnOneCommandLineAreOneWorld(Mpirun mpirun) {
        mpirun.assumeInstalled();
        Assumptions.assumeTrue(
                mpirun.runTogether(List.of("true"), 1, List.of("true")).code() == 0,
                "this mpirun crashes when it is given two programs");
        List<String> java = Mpirun.java(JobMain.class, List.of(), "shared");
        Mpirun.Outcome outcome = mpirun.runTogether(java, 2, java);
        assertThat(outcome.code()).as(outcome.output()).isZero();
        assertThat(outcome.output())
                .contains("rank 0 of 3: sums 6 6 6 from 0 7", "rank 2 of 3: sums 6 6 6");
    }

    @ParameterizedTest
    @EnumSource
    void javaAndPythonAreOneWorld(Mpirun mpirun, @TempDir Path directory) throws IOException {
        mpirun.assumeInstalled();
        Path script = directory.resolve("rank.py");
        Files.writeString(script, PYTHON_PROGRAM);
        // Debian's MPICH has a name of its own; mpi4py asks for the one that its relatives share.
        Files.createSymbolicLink(directory.resolve("libmpi.so.12"), Path.of(DEBIAN_MPICH));
        List<String> python =
                List.of(
                        "env",
                        "LD_LIBRARY_PATH=" + directory,
                        "MPI4PY_MPIABI=" + (mpirun == Mpirun.MPICH ? "mpich" : "openmpi"),
                        System.getenv().getOrDefault("JCCL_PEER_PYTHON", "python3"),
                        script.toString());
        Mpirun.Outcome alone = mpirun.run(2, python);
        Assumptions.assumeTrue(
                alone.output().contains("Python sums 3 3 3"),
                "mpi4py does not run under this launcher: " + alone.output());
        Mpirun.Outcome outcome = runBeside(mpirun, python, "shared");
        assertThat(outcome.output())
                .contains("Python sums 6 6 6 from 0 7", "rank 1 of 3: sums 6 6 6 from 0 7");
    }

    /**
     * One rank of another language, and two of Java. The ranks choose for themselves, since the
     * mpirun of Open MPI 5.0 in Debian 13 crashes when it is given two programs.
     */
    private static Mpirun.Outcome runBeside(Mpirun mpirun, List<String> other, String job) {
        String choice =
                "if [ ${OMPI_COMM_WORLD_RANK-$PMI_RANK} = 0 ]; then exec '%s'; fi; exec \"$@\""
                        .formatted(String.join("' '", other));
        List<String> command = new ArrayList<>(List.of("sh", "-c", choice, "sh"));
        command.addAll(Mpirun.java(JobMain.class, List.of(), job));
        Mpirun.Outcome outcome = mpirun.run(3, command);
        assertThat(outcome.code()).as(outcome.output()).isZero();
        return outcome;
    }
}
