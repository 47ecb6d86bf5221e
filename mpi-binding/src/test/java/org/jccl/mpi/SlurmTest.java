package org.jccl.mpi;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Jobs that {@code srun} starts, on a Slurm of the test's own. */
@Tag("all")
class SlurmTest {

    @TempDir private static Path folder;

    private static ScratchSlurm slurm;
    private static String missing = "";

    @BeforeAll
    static void start() throws IOException {
        try {
            slurm = new ScratchSlurm(folder);
        } catch (IllegalStateException e) {
            missing = e.getMessage();
        }
    }

    @BeforeEach
    void assumeStarted() {
        Assumptions.assumeTrue(slurm != null, missing);
    }

    @AfterAll
    static void stop() {
        if (slurm != null) {
            slurm.close();
        }
    }

    @ParameterizedTest
    @CsvSource({"pmix, OPEN_MPI", "pmi2, MPICH"})
    void srunIsEnoughToFormAWorld(String pmi, Mpirun family) {
        family.assumeInstalled();
        slurm.assumeHas(pmi);
        Mpirun.Outcome outcome = slurm.srun(2, pmi, JobMain.class, "sum");
        assertThat(outcome.code()).as(outcome.output()).isZero();
        assertThat(outcome.output()).contains("rank 0 of 2: sum 3", "rank 1 of 2: sum 3");
    }

    @Test
    void withoutPmiRanksAreToldWhatSrunNeeds() {
        Mpirun.OPEN_MPI.assumeInstalled();
        Mpirun.Outcome outcome = slurm.srun(2, "none", JobMain.class, "sum");
        assertThat(outcome.code()).as(outcome.output()).isNotZero();
        assertThat(outcome.output())
                .contains("BackendUnavailableException: srun started this process")
                .contains("srun needs --mpi=pmix for Open MPI")
                .doesNotContain("MPI_ERRORS_ARE_FATAL");
    }
}
