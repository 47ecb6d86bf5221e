package org.jccl.mpi;

import java.lang.System.Logger.Level;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jccl.BackendUnavailableException;
import org.jccl.FailureContext;

/** The variables with which MPI's launchers describe this process. */
final class MpiLauncher {

    /** Variables for the number of ranks of a job. */
    private static final List<String> SIZES =
            List.of(
                    "OMPI_COMM_WORLD_SIZE",
                    "PMI_SIZE",
                    "MV2_COMM_WORLD_SIZE",
                    "JSM_NAMESPACE_SIZE",
                    "FLUX_JOB_SIZE",
                    "SLURM_STEP_NUM_TASKS",
                    "WORLD_SIZE");

    /** Variables for the number of ranks on this host. */
    private static final List<String> LOCAL_SIZES =
            List.of(
                    "OMPI_COMM_WORLD_LOCAL_SIZE",
                    "MPI_LOCALNRANKS",
                    "MV2_COMM_WORLD_LOCAL_SIZE",
                    "PMI_LOCAL_SIZE",
                    "JSM_NAMESPACE_LOCAL_SIZE");

    /** Variables for the rank on this host. That of Slurm may belong to the parent of mpirun. */
    private static final List<String> LOCAL_RANKS =
            List.of(
                    "OMPI_COMM_WORLD_LOCAL_RANK",
                    "MPI_LOCALRANKID",
                    "MV2_COMM_WORLD_LOCAL_RANK",
                    "PALS_LOCAL_RANKID",
                    "PMI_LOCAL_RANK",
                    "JSM_NAMESPACE_LOCAL_RANK",
                    "FLUX_TASK_LOCAL_ID",
                    "SLURM_LOCALID");

    private static final String SLURM_STEP = "SLURM_STEP_ID";

    /** With one of these, Open MPI finds the other ranks, or runs alone on purpose. */
    private static final List<String> OPEN_MPI_FINDS =
            List.of("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK");

    private static final String SRUN =
            "srun needs --mpi=pmix for Open MPI, --mpi=pmi2 for MPICH and its relatives;"
                    + " 'srun --mpi=list' prints the available ones";

    private final Map<String, String> environment;

    MpiLauncher(Map<String, String> environment) {
        this.environment = environment;
    }

    /**
     * Called before MPI is initialised: Open MPI before 5 ends a process that {@code srun} started
     * without a way to find the others.
     *
     * @param library the name, which starts with the version
     * @throws BackendUnavailableException if it would do so
     */
    void requireProcessManager(String library) {
        if (library.matches("Open MPI v[1-4][.].*")
                && environment.containsKey(SLURM_STEP)
                && OPEN_MPI_FINDS.stream().noneMatch(environment::containsKey)
                && !MpiLibraries.isNamed(environment)) {
            throw new BackendUnavailableException(
                    FailureContext.NONE,
                    "srun started this process, but none of "
                            + String.join(", ", OPEN_MPI_FINDS)
                            + " is set, and in this case "
                            + library
                            + " ends the process: "
                            + SRUN
                            + ". In a shell that srun started, use mpirun, or unset "
                            + SLURM_STEP
                            + " for a world of one");
        }
    }

    /**
     * Called if MPI finds one rank. Logs a warning if no launcher started it.
     *
     * @param library the loaded library, for the message
     * @throws BackendUnavailableException if a launcher started several ranks
     */
    void requireAlone(String library) {
        for (String variable : SIZES) {
            if (number(variable) > 1) {
                throw new BackendUnavailableException(
                        FailureContext.NONE,
                        variable
                                + " is "
                                + environment.get(variable)
                                + ", but MPI finds only this process: "
                                + library
                                + " does not belong to the launcher. Start the ranks with the"
                                + " mpirun of this library, or name the launcher's library with -D"
                                + MpiLibraries.PROPERTY
                                + "=PATH"
                                + (environment.containsKey(SLURM_STEP) ? ". " + SRUN : ""));
            }
        }
        if (!isThere()) {
            System.getLogger(MpiLauncher.class.getName())
                    .log(
                            Level.WARNING,
                            "mpi: no launcher started this process, so it is a world of one rank;"
                                    + " use mpirun or srun");
        }
    }

    /** Returns whether a launcher gives the number of ranks. */
    boolean isThere() {
        return SIZES.stream().anyMatch(environment::containsKey);
    }

    /** The rank on this host, or -1 if no launcher gives it. */
    int localRank() {
        return LOCAL_RANKS.stream()
                .filter(environment::containsKey)
                .findFirst()
                .map(this::number)
                .orElse(-1);
    }

    /** The number of ranks on this host, or 0 if no launcher gives it. */
    int localSize() {
        // Slurm lists the ranks of the host.
        String ranks = environment.getOrDefault("SLURM_GTIDS", "");
        int ofSlurm = ranks.isEmpty() ? 0 : ranks.split(",").length;
        return Stream.concat(Stream.of(ofSlurm), LOCAL_SIZES.stream().map(this::number))
                .max(Integer::compare)
                .orElse(0);
    }

    private int number(String variable) {
        String text = environment.getOrDefault(variable, "0");
        return text.matches("[0-9]{1,9}") ? Integer.parseInt(text) : 0;
    }
}
