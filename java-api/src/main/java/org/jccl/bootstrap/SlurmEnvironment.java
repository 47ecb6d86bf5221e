package org.jccl.bootstrap;

import java.util.Map;
import java.util.Optional;

/**
 * Slurm's {@code srun}. The store lives on the first host of the step, on a port derived from the
 * job's id, unless {@code MASTER_ADDR} and {@code MASTER_PORT} say otherwise. {@code
 * SLURM_NTASKS_PER_NODE} is a limit, so a step may have fewer ranks than that.
 */
final class SlurmEnvironment implements ClusterEnvironment {

    /** Ports 15000 to 24999, as PyTorch Lightning picks them, so that jobs rarely collide. */
    private static final int FIRST_PORT = 15000;

    private static final int PORTS = 10000;

    @Override
    public String name() {
        return "Slurm";
    }

    @Override
    public boolean detect(Map<String, String> environment) {
        return environment.containsKey("SLURM_PROCID");
    }

    @Override
    public Membership read(Map<String, String> environment) {
        MembershipReader reader = new MembershipReader(name(), environment);
        int rank = reader.required(0, "rank, as srun does", "SLURM_PROCID");
        int worldSize =
                reader.required(
                        1, "number of ranks, as srun does", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS");
        reader.mustAgree(LaunchVariables.RANK, rank, "SLURM_PROCID");
        reader.mustAgree(LaunchVariables.WORLD_SIZE, worldSize, "the number of Slurm tasks");
        return reader.local(
                        reader.optional(0, "SLURM_LOCALID"),
                        Math.min(worldSize, reader.optional(1, "SLURM_NTASKS_PER_NODE")))
                .master()
                .masterOrElse(masterAddress(reader), masterPort(reader))
                .membership(rank, worldSize);
    }

    private static Optional<String> masterAddress(MembershipReader reader) {
        for (String name : new String[] {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"}) {
            Optional<String> nodes = reader.text(name);
            if (nodes.isPresent()) {
                Optional<String> host = firstHost(nodes.get());
                if (host.isEmpty()) {
                    reader.problem(
                            name + "=" + nodes.get() + " is not a list of hosts: set MASTER_ADDR");
                }
                return host;
            }
        }
        return reader.text("SLURM_LAUNCH_NODE_IPADDR");
    }

    private static Optional<Integer> masterPort(MembershipReader reader) {
        int job = reader.optional(0, "SLURM_JOB_ID", "SLURM_JOBID");
        return job == MembershipReader.UNKNOWN
                ? Optional.empty()
                : Optional.of(FIRST_PORT + job % PORTS);
    }

    /**
     * First host of a list such as {@code rack[0-1]node[03,07-09],login}: of each bracket the first
     * number, with its zeros.
     *
     * @param nodes the list
     * @return the host, or empty when the brackets do not match
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
            if (first.isEmpty() || !first.chars().allMatch(Character::isDigit)) {
                return Optional.empty();
            }
            host.append(first);
            at = close + 1;
        }
        return host.isEmpty() ? Optional.empty() : Optional.of(host.toString());
    }
}
