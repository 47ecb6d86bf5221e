package org.jccl.mpi;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.jccl.Availability;
import org.jccl.BackendUnavailableException;
import org.jccl.ProcessGroup;
import org.jccl.spi.support.NativeLibraries;
import org.jccl.testing.ChildJvm;
import org.jccl.testing.JarOfAnotherPlatform;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.junit.jupiter.api.parallel.Resources;

/** Which library is chosen, and what is said when there is none. */
@ResourceLock(Resources.SYSTEM_PROPERTIES)
class MpiLibrariesTest {

    @AfterEach
    void forget() {
        System.clearProperty(MpiLibraries.PROPERTY);
    }

    @Test
    void theLauncherDecidesTheFamily() {
        assertThat(MpiLibraries.candidates(Map.of("OMPI_COMM_WORLD_RANK", "0")))
                .contains("libmpi.so.40")
                .endsWith("libmpi_abi.so.1")
                .doesNotContain("libmpich.so.12");
        assertThat(MpiLibraries.candidates(Map.of("PMI_RANK", "0")))
                .contains("libmpich.so.12")
                .endsWith("libmpi_abi.so.1")
                .doesNotContain("libmpi.so.40");
        assertThat(MpiLibraries.candidates(Map.of()))
                .startsWith("", "libmpi_abi.so.1", "libmpi.so.40")
                .contains("libmpich.so.12");
    }

    /** As srun of Slurm 22.05 sets them. */
    @Test
    void srunsPmiDecidesTheFamily() {
        Map<String, String> pmix = Map.of("SLURM_STEP_ID", "0", "PMIX_RANK", "1");
        assertThat(MpiLibraries.candidates(pmix)).contains("libmpi.so.40");
        Map<String, String> pmi2 =
                Map.of("SLURM_STEP_ID", "0", "PMI_RANK", "1", "PMI_SIZE", "2", "PMI_FD", "13");
        assertThat(MpiLibraries.candidates(pmi2)).doesNotContain("libmpi.so.40");
    }

    @Test
    void whatTheUserNamesIsTheOnlyCandidate() {
        assertThat(MpiLibraries.candidates(Map.of(MpiLibraries.VARIABLE, "/a", "PMI_RANK", "0")))
                .containsExactly("/a");
        System.setProperty(MpiLibraries.PROPERTY, "/b");
        assertThat(MpiLibraries.candidates(Map.of(MpiLibraries.VARIABLE, "/a")))
                .containsExactly("/b");
    }

    @Test
    void aJarOfAnotherPlatformSaysWhichToTake() throws Exception {
        assertThat(JarOfAnotherPlatform.availabilityOf(MpiProvider.class).toString())
                .contains("for " + NativeLibraries.platform())
                .contains("the artifact org.jccl:jccl-mpi without a classifier")
                .contains("the classifier " + NativeLibraries.platform());
    }

    @Test
    void aMissingLibraryIsNoCrash() {
        System.setProperty(MpiLibraries.PROPERTY, "/there/is/no/libmpi.so");
        Availability answer = new MpiProvider().availability();
        assertThat(answer).isInstanceOf(Availability.Unavailable.class);
        assertThat(((Availability.Unavailable) answer).tried())
                .singleElement()
                .asString()
                .contains("/there/is/no/libmpi.so", "cannot open shared object file");
    }

    /** What a launcher of another library starts: a rank that MPI does not know of. */
    static final class Stranger {
        private Stranger() {}

        public static void main(String[] arguments) {
            try (ProcessGroup world = ProcessGroup.builder().backend("mpi").build()) {
                System.out.println("joined " + world.size());
            } catch (BackendUnavailableException e) {
                System.out.println(e.getMessage());
            }
        }
    }

    @Test
    void aLauncherOfAnotherLibraryIsNamedWithTheOneThatWasLoaded() throws Exception {
        Mpirun.OPEN_MPI.assumeInstalled();
        Map<String, String> environment =
                Map.of("WORLD_SIZE", "2", MpiLibraries.VARIABLE, "libmpi.so.40");
        assertThat(ChildJvm.outputOf(Stranger.class, environment))
                .containsPattern(
                        "WORLD_SIZE is 2, but MPI finds only this process: Open MPI v[0-9.]+,"
                                + " \\S*libmpi\\S*, does not belong to the launcher");
    }
}
