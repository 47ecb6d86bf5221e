package org.jccl.bootstrap;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import org.jccl.internal.rendezvous.RankVariables;

/**
 * A step of Slurm's {@code srun}. The store is on the first host of the step, on a port that is
 * derived from the ids of job and step, unless {@code MASTER_ADDR} and {@code MASTER_PORT} are set.
 */
final class SlurmEnvironment implements ClusterEnvironment {

    /** Ports 15000 to 24999 are below the ephemeral ports. */
    private static final int FIRST_PORT = 15000;

    private static final int PORTS = 10000;

    private static final Pattern HOST = Pattern.compile("[A-Za-z0-9._-]+");
    private static final Pattern NUMBER = Pattern.compile("[0-9]+");

    private static final String LOOPBACK = "127.0.0.1";

    private static final String TASKS = "SLURM_STEP_NUM_TASKS";
    private static final String RANKS_OF_HOST = "SLURM_GTIDS";

    @Override
    public String name() {
        return "Slurm";
    }

    /**
     * A batch script also has {@code SLURM_PROCID}, but is not a task of a step. A step of one task
     * may be a shell that starts the ranks in another way.
     */
    @Override
    public boolean detect(Map<String, String> environment) {
        boolean isTask =
                RankVariables.required(environment).containsKey("SLURM_PROCID")
                        && environment.containsKey(TASKS);
        boolean isShell =
                "1".equals(environment.get(TASKS))
                        && !"1".equals(environment.getOrDefault(RankVariables.WORLD_SIZE, "1"));
        return isTask && !isShell;
    }

    @Override
    public Membership read(Map<String, String> environment) {
        MembershipReader reader = new MembershipReader(name(), environment);
        int rank = reader.required(0, "rank, as srun does", "SLURM_PROCID");
        int worldSize = reader.required(1, "number of ranks, as srun does", TASKS);
        reader.mustAgree(RankVariables.RANK, rank, "SLURM_PROCID");
        reader.mustAgree(RankVariables.WORLD_SIZE, worldSize, TASKS);
        return reader.local(reader.optional(0, "SLURM_LOCALID"), localWorldSize(reader, rank))
                .master()
                .masterOrElse(masterAddress(reader), masterPort(reader))
                .membership(rank, worldSize);
    }

    /** All components of a heterogeneous step have the ids of the first one. */
    @Override
    public Optional<String> jobId(Map<String, String> environment) {
        MembershipReader reader = new MembershipReader(name(), environment);
        Optional<String> step = reader.text("SLURM_STEP_ID");
        return reader.text("SLURM_JOB_ID")
                .flatMap(job -> step.map(id -> "Slurm step " + job + "." + id));
    }

    /** Does not use SLURM_NTASKS_PER_NODE, which is the requested number, often of another step. */
    private static int localWorldSize(MembershipReader reader, int rank) {
        Optional<String> ranks = reader.text(RANKS_OF_HOST);
        if (ranks.isEmpty()) {
            return MembershipReader.UNKNOWN;
        }
        List<String> each = List.of(ranks.get().split(",", -1));
        if (rank != MembershipReader.UNKNOWN && !each.contains(String.valueOf(rank))) {
            reader.problem(
                    "%s=%s must list the ranks of this host, %s among them, as srun does"
                            .formatted(RANKS_OF_HOST, ranks.get(), rank));
        }
        return each.size();
    }

    private static Optional<String> masterAddress(MembershipReader reader) {
        String name = "SLURM_STEP_NODELIST";
        if (reader.optional(1, "SLURM_STEP_NUM_NODES") == 1) {
            return Optional.of(LOOPBACK); // needs no name service
        }
        Optional<String> nodes = reader.text(name);
        Optional<String> host = nodes.flatMap(SlurmEnvironment::firstHost);
        if (nodes.isPresent() && host.isEmpty()) {
            reader.problem(name + "=" + nodes.get() + " is not a list of hosts: set MASTER_ADDR");
        }
        return host;
    }

    /** Steps may run at the same time. Their ids may be as large as 4294967290. */
    private static Optional<Integer> masterPort(MembershipReader reader) {
        String step = reader.text("SLURM_STEP_ID").orElse("");
        return reader.text("SLURM_JOB_ID")
                .map(job -> FIRST_PORT + Math.floorMod((job + "." + step).hashCode(), PORTS));
    }

    /**
     * Returns the first host of a list such as {@code rack[0-1]node[03,07-09],login}: the first
     * number of each bracket, with its zeros.
     *
     * @return the host, or empty if the brackets do not match or it is not a host name
     */
    static Optional<String> firstHost(String nodes) {
        StringBuilder host = new StringBuilder();
        int at = 0;
        while (at < nodes.length() && nodes.charAt(at) != ',') {
            char letter = nodes.charAt(at);
            if (letter == ']') {
                return Optional.empty();
            }
            if (letter != '[') {
                host.append(letter);
                at++;
                continue;
            }
            int close = nodes.indexOf(']', at);
            if (close < 0) {
                return Optional.empty();
            }
            String first = nodes.substring(at + 1, close).split("[,-]", 2)[0];
            if (!NUMBER.matcher(first).matches()) {
                return Optional.empty();
            }
            host.append(first);
            at = close + 1;
        }
        return Optional.of(host.toString()).filter(name -> HOST.matcher(name).matches());
    }
}
