package org.jccl.mpi;

import static org.jccl.testing.Patience.expires;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.jccl.testing.FreePort;
import org.junit.jupiter.api.Assumptions;

/** A Slurm cluster of this host, without accounts, control groups or real authentication. */
final class ScratchSlurm implements AutoCloseable {

    private static final int START_SECONDS = 30;

    private final Map<String, String> environment;
    private final List<Process> daemons = new ArrayList<>();

    /**
     * Starts the daemons.
     *
     * @param folder holds settings, state and logs
     * @throws IllegalStateException where they are not installed or do not come up
     */
    ScratchSlurm(Path folder) throws IOException {
        Path controller = find("slurmctld");
        Path daemon = find("slurmd");
        Path settings = Files.writeString(folder.resolve("slurm.conf"), settings(folder));
        environment = Map.of("SLURM_CONF", settings.toString());
        Files.createDirectory(folder.resolve("state"));
        daemons.add(start(folder, controller, "-D", "-i"));
        daemons.add(start(folder, daemon, "-D"));
        for (int i = 0; i < START_SECONDS * 10; i++) {
            if (run("sinfo", "--noheader", "--format=%T").output().strip().equals("idle")) {
                return;
            }
            LockSupport.parkNanos(expires(Duration.ofMillis(100)).toNanos());
        }
        close();
        throw new IllegalStateException(
                "Slurm does not come up:\n" + Files.readString(folder.resolve("log")));
    }

    private static Path find(String program) {
        return Stream.concat(Stream.of(System.getenv("PATH").split(":")), Stream.of("/usr/sbin"))
                .map(folder -> Path.of(folder, program))
                .filter(Files::isExecutable)
                .findFirst()
                .orElseThrow(() -> new IllegalStateException(program + " is not installed"));
    }

    private static String settings(Path folder) throws IOException {
        String host =
                Files.readString(Path.of("/proc/sys/kernel/hostname")).strip().split("[.]")[0];
        String user = System.getProperty("user.name");
        return """
                ClusterName=scratch
                SlurmctldHost=%1$s(127.0.0.1)
                SlurmctldPort=%4$d
                SlurmdPort=%5$d
                SlurmUser=%2$s
                SlurmdUser=%2$s
                AuthType=auth/none
                CredType=cred/none
                ProctrackType=proctrack/linuxproc
                TaskPlugin=task/none
                JobAcctGatherType=jobacct_gather/none
                SelectType=select/cons_tres
                SelectTypeParameters=CR_Core
                SlurmdParameters=config_overrides
                SchedulerParameters=sched_interval=1
                StateSaveLocation=%3$s/state
                SlurmdSpoolDir=%3$s/spool
                SlurmctldPidFile=%3$s/slurmctld.pid
                SlurmdPidFile=%3$s/slurmd.pid
                NodeName=%1$s NodeAddr=127.0.0.1 CPUs=4
                PartitionName=all Nodes=%1$s Default=YES
                """
                .formatted(host, user, folder, FreePort.next(), FreePort.next());
    }

    private Process start(Path folder, Path program, String... options) throws IOException {
        List<String> command = new ArrayList<>(List.of(program.toString()));
        command.addAll(List.of(options));
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        builder.environment().putAll(environment);
        builder.redirectOutput(ProcessBuilder.Redirect.appendTo(folder.resolve("log").toFile()));
        return builder.start();
    }

    private Mpirun.Outcome run(String... command) {
        return Mpirun.run(List.of(command), environment);
    }

    /** Skips the test where {@code srun} was built without this way of starting ranks of MPI. */
    void assumeHas(String pmi) {
        Assumptions.assumeTrue(
                List.of(run("srun", "--mpi=list").output().split("\\s+")).contains(pmi),
                "this srun has no --mpi=" + pmi);
    }

    Mpirun.Outcome srun(int ranks, String pmi, Class<?> main, String... arguments) {
        List<String> command =
                new ArrayList<>(List.of("srun", "--ntasks=" + ranks, "--time=5", "--mpi=" + pmi));
        command.addAll(Mpirun.java(main, List.of(), arguments));
        return Mpirun.run(command, environment);
    }

    /** Ends the daemons; jobs have ended with their srun. */
    @Override
    public void close() {
        daemons.forEach(Process::destroy);
        daemons.forEach(process -> process.onExit().join());
    }
}
