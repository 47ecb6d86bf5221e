package org.jccl.launch;

import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.jccl.FailureContext;
import org.jccl.TlsCredentials;
import org.jccl.UsageException;
import org.jccl.bootstrap.Membership;
import org.jccl.internal.checks.Counted;
import org.jccl.internal.rendezvous.StoreUrl;

/**
 * The description of a job for {@link ProcessLauncher}, checked and complete.
 *
 * @param roles the roles of this launcher's ranks, in the order of their ranks
 * @param environment variables given to every rank
 * @param directory the working directory, if it differs from this process's
 * @param nodes number of launchers in the job
 * @param nodeRank the number of this launcher among them, from 0
 * @param masterAddress host of node 0's store
 * @param masterPort the port of node 0's store; 0 for any free port, with a single node only
 * @param service the store of a service, instead of a store that node 0 serves
 * @param runId name of the run
 * @param maxRestarts the maximum number of restarts: of the job, or of single ranks if lost ones
 *     are replaced
 * @param lostRanks what the launcher does when a rank fails
 * @param output receives the ranks' lines
 * @param input whether rank 0 reads the standard input of this process
 * @param logs which output of the ranks is written to files, and which is shown
 * @param timeout the limit for the whole job, if there is one
 * @param grace the time that a rank may take to stop before it is killed
 * @param tls the certificates for the store; empty for plain connections
 */
record LaunchSettings(
        List<LaunchRole> roles,
        Map<String, String> environment,
        Optional<Path> directory,
        int nodes,
        int nodeRank,
        String masterAddress,
        int masterPort,
        Optional<StoreUrl> service,
        String runId,
        int maxRestarts,
        LostRanks lostRanks,
        OutputHandler output,
        boolean input,
        RankLogs logs,
        Optional<Duration> timeout,
        Duration grace,
        Optional<TlsCredentials> tls) {

    /**
     * Checks that the options are consistent.
     *
     * @throws UsageException if two options contradict each other, or one lacks another
     */
    LaunchSettings {
        check(
                nodes == 1 || masterPort != 0 || service.isPresent(),
                "with " + nodes + " nodes, give the address of node 0 and a port as the master");
        check(
                lostRanks != LostRanks.KEEP_OTHERS || nodes == 1,
                "survivors can be kept only in a job of one node; with several nodes, replace lost"
                        + " ranks");
        check(
                lostRanks != LostRanks.REPLACE || maxRestarts > 0,
                "replacing lost ranks needs at least one restart; give a number of restarts");
        check(
                logs.folder().isEmpty() || isBelow(logs.folder().get(), runId),
                "the run id '"
                        + runId
                        + "' names a folder outside the log folder "
                        + logs.folder().map(Path::toString).orElse("")
                        + "; give a name");
        List<String> names = roles.stream().map(LaunchRole::name).toList();
        check(
                names.stream().distinct().count() == names.size(),
                "two roles have the same name: " + names);
        long world = (long) nodes * roles.stream().mapToLong(LaunchRole::ranks).sum();
        check(
                world <= Membership.MAX_RANKS,
                world
                        + " ranks are more than "
                        + Membership.MAX_RANKS
                        + ", the largest world size");
    }

    private static boolean isBelow(Path folder, String name) {
        try {
            Path root = folder.toAbsolutePath().normalize();
            Path path = root.resolve(name).normalize();
            return path.startsWith(root) && !path.equals(root);
        } catch (InvalidPathException e) {
            return false;
        }
    }

    static void check(boolean condition, String message) {
        if (!condition) {
            throw new UsageException(FailureContext.NONE, message);
        }
    }

    /** Returns the settings of one job, with its own log folder. */
    LaunchSettings ofJob() {
        return new LaunchSettings(
                roles,
                environment,
                directory,
                nodes,
                nodeRank,
                masterAddress,
                masterPort,
                service,
                runId,
                maxRestarts,
                lostRanks,
                output,
                input,
                logs.ofJob(runId),
                timeout,
                grace,
                tls);
    }

    /** Returns the ranks of each role on a node, for messages. */
    String ranksByRole() {
        return roles.stream()
                .map(role -> Counted.text(role.ranks(), "rank") + " of role " + role.name())
                .collect(Collectors.joining(", "));
    }

    /** Returns how often all ranks may be restarted. */
    int restartsOfAll() {
        return lostRanks == LostRanks.REPLACE ? 0 : maxRestarts;
    }

    /** Returns whether this launcher serves the store. */
    boolean servesStore() {
        return nodeRank == 0 && service.isEmpty();
    }

    int ranksPerNode() {
        return roles.stream().mapToInt(LaunchRole::ranks).sum();
    }
}
