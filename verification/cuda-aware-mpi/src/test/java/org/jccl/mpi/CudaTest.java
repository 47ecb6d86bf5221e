package org.jccl.mpi;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jccl.mpi.ConformanceMain.SuiteRun;
import org.jccl.testing.Families;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Tensors on CUDA devices. The devices are mocks whose memory the host can touch, so that a library
 * that takes host memory only can be passed off as one that is CUDA-aware.
 */
@Execution(ExecutionMode.CONCURRENT)
@Timeout(600)
class CudaTest {

    @TempDir static Path directory;

    private static Path takesCuda;

    @BeforeAll
    static void build() throws Exception {
        takesCuda = Gcc.library("test/takes_cuda.cc", directory.resolve("takes_cuda.so"));
    }

    /** In front of Java: streams delay each operation a little, and the library is CUDA-aware. */
    private static List<String> prefix(boolean aware) {
        List<String> command =
                new ArrayList<>(List.of("env", "MOCK_HOST_ACCESS=1", "MOCK_DELAY_US=200"));
        if (aware) {
            command.add("LD_PRELOAD=" + takesCuda);
        }
        return command;
    }

    private static List<String> jvmOptions() {
        Path mocks = Path.of(System.getProperty("org.jccl.mpi.test.mocks"));
        String cache = "org.bytedeco.javacpp.cachedir";
        return List.of(
                "-D" + cache + "=" + System.getProperty(cache),
                "-Dorg.jccl.nccl.driver=" + mocks.resolve("libcuda.so.1"),
                "-Dorg.jccl.nccl.cudart=" + mocks.resolve("libcudart.so.13"),
                "-Dorg.jccl.nccl.library=" + mocks.resolve("libnccl.so.2"));
    }

    private static Mpirun.Outcome run(Mpirun mpirun, boolean aware, String job) {
        mpirun.assumeInstalled();
        List<String> command = new ArrayList<>(prefix(aware));
        command.addAll(Mpirun.java(CudaMain.class, jvmOptions(), job));
        return mpirun.run(2, command);
    }

    /**
     * What the memory has no part in is left out; nor does its part depend on how many ranks there
     * are. Open MPI runs the families whose calls differ on streams, unless all is asked for.
     */
    @ParameterizedTest
    @EnumSource
    void conforms(Mpirun mpirun) throws Exception {
        boolean full = Families.ALL || mpirun == Mpirun.MPICH;
        String families = full ? "!(groups | arguments)" : "messages | works | coalesced";
        MpiConformanceTest.conforms(
                mpirun, 2, prefix(true), jvmOptions(), "cuda", SuiteRun.of(families));
    }

    @ParameterizedTest
    @EnumSource
    void whatTheStreamHasYetToDoComesFirst(Mpirun mpirun) {
        Mpirun.Outcome outcome = run(mpirun, true, "streams");
        assertThat(outcome.code()).as(outcome.output()).isZero();
        for (int rank = 0; rank < 2; rank++) {
            assertThat(outcome.output())
                    .contains("rank " + rank + ": asynchronous 3.0, synchronous 6.0, message 9.0");
        }
    }

    @ParameterizedTest
    @EnumSource
    void capturesAndReductionsOnTheHostAreRefused(Mpirun mpirun) {
        Mpirun.Outcome outcome = run(mpirun, true, "refusals");
        assertThat(outcome.code()).as(outcome.output()).isZero();
        assertThat(outcome.output())
                .contains(
                        "this backend has no AVG of float32 on cuda:0",
                        "this backend has no PREMUL_SUM(2.0) of float32 on cuda:1",
                        "this backend has no MAX of float32 on cuda:0",
                        "this backend has no SUM of bfloat16 on cuda:1",
                        "captured into a graph",
                        "rank 0: the group goes on: 3.0");
    }

    @ParameterizedTest
    @EnumSource
    void aLibraryWithoutCudaSaysSo(Mpirun mpirun) {
        assertThat(run(mpirun, false, "streams").output())
                .contains("BackendUnavailableException: group 'world', rank 0")
                .contains("does not accept memory of CUDA devices: MPIX_Query_cuda_support()");
    }

    @ParameterizedTest
    @EnumSource
    void hostAndDeviceStandSideBySide(Mpirun mpirun) {
        Mpirun.Outcome outcome = run(mpirun, true, "both");
        assertThat(outcome.code()).as(outcome.output()).isZero();
        assertThat(outcome.output()).contains("rank 0: cpu 3, cuda 3", "rank 1: cpu 3, cuda 3");
    }
}
