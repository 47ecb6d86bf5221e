package org.jccl.mpi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.HashMap;
import java.util.Map;
import org.jccl.BackendUnavailableException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What launchers' variables say, and what is said when MPI says something else. */
@Tag("all")
class MpiLauncherTest {

    private static final String OPEN_MPI = "Open MPI v4.1.4, /lib/libmpi.so.40,";

    /** Of {@code srun -n 3 --mpi=none}. */
    private static final Map<String, String> SRUN =
            Map.of(
                    "SLURM_PROCID", "1",
                    "SLURM_LOCALID", "1",
                    "SLURM_GTIDS", "0,1,2",
                    "SLURM_STEP_ID", "0",
                    "SLURM_STEP_NUM_TASKS", "3");

    private static MpiLauncher of(Map<String, String> environment) {
        return new MpiLauncher(environment);
    }

    private static Map<String, String> srunWith(String name, String value) {
        Map<String, String> all = new HashMap<>(SRUN);
        all.put(name, value);
        return all;
    }

    @Test
    void launcherOfOneRankIsALauncher() {
        assertThat(of(Map.of("OMPI_COMM_WORLD_SIZE", "1")).isThere()).isTrue();
        assertThat(of(Map.of("PMI_SIZE", "1")).isThere()).isTrue();
        assertThat(of(Map.of("PATH", "/bin")).isThere()).isFalse();
        // Of a batch script; only its steps have ranks.
        assertThat(of(Map.of("SLURM_PROCID", "0", "SLURM_NTASKS", "3")).isThere()).isFalse();
    }

    @Test
    void theLauncherTellsTheRankOnTheHost() {
        assertThat(of(Map.of()).localRank()).isEqualTo(-1);
        assertThat(of(SRUN).localRank()).isEqualTo(1);
        assertThat(of(srunWith("OMPI_COMM_WORLD_LOCAL_RANK", "3")).localRank()).isEqualTo(3);
    }

    @Test
    void theLauncherTellsTheNumberOfRanksOnTheHost() {
        assertThat(of(Map.of()).localSize()).isZero();
        assertThat(of(SRUN).localSize()).isEqualTo(3);
        assertThat(of(srunWith("MPI_LOCALNRANKS", "8")).localSize()).isEqualTo(8);
    }

    @Test
    void srunWithoutPmiIsRefusedBeforeOpenMpiEndsTheProcess() {
        assertThatThrownBy(() -> of(SRUN).requireProcessManager(OPEN_MPI))
                .isInstanceOf(BackendUnavailableException.class)
                .hasMessageContaining("none of OMPI_COMM_WORLD_RANK, PMIX_RANK, PMI_RANK is set")
                .hasMessageContaining(OPEN_MPI + " ends the process")
                .hasMessageContaining("--mpi=pmix for Open MPI, --mpi=pmi2 for MPICH");
    }

    @ParameterizedTest
    @ValueSource(strings = {"PMIX_RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK", "JCCL_MPI_LIBRARY"})
    void whatMayFindTheOthersIsTried(String variable) {
        assertThatCode(() -> of(srunWith(variable, "1")).requireProcessManager(OPEN_MPI))
                .doesNotThrowAnyException();
    }

    @ParameterizedTest
    @ValueSource(strings = {"Open MPI v5.0.6, /lib/libmpi.so.40,", "MPICH Version: 4.0.2, /lib,"})
    void librariesThatGoOnAloneAreTried(String library) {
        assertThatCode(() -> of(SRUN).requireProcessManager(library)).doesNotThrowAnyException();
        assertThatThrownBy(() -> of(SRUN).requireAlone(library))
                .isInstanceOf(BackendUnavailableException.class)
                .hasMessageContaining("SLURM_STEP_NUM_TASKS is 3, but MPI finds only this process")
                .hasMessageContaining(library + " does not belong to the launcher")
                .hasMessageContaining("--mpi=pmi2 for MPICH");
    }

    @Test
    void otherLaunchersAreNotToldAboutSrun() {
        assertThatThrownBy(() -> of(Map.of("PMI_SIZE", "2")).requireAlone("L"))
                .isInstanceOf(BackendUnavailableException.class)
                .hasMessageStartingWith(
                        "PMI_SIZE is 2, but MPI finds only this process: L does not")
                .satisfies(e -> assertThat(e.getMessage()).doesNotContain("srun"));
    }

    @Test
    void oneRankIsAlone() {
        assertThatCode(() -> of(Map.of("PMI_SIZE", "1")).requireAlone("L"))
                .doesNotThrowAnyException();
        assertThatCode(() -> of(Map.of()).requireProcessManager(OPEN_MPI))
                .doesNotThrowAnyException();
    }
}
