package org.jccl.bootstrap;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jccl.BootstrapException;
import org.jccl.FailureContext;
import org.jccl.UsageException;
import org.jccl.internal.rendezvous.Endpoint;
import org.jccl.internal.rendezvous.RankVariables;

/**
 * Reads the variables of one launcher, for classes that implement {@link ClusterEnvironment}.
 * Problems are collected, so that {@link #membership} reports all of them at once, with the value
 * of every variable that was read. Not thread-safe.
 */
public final class MembershipReader {

    /** The value of a number whose variable is not set or malformed. */
    public static final int UNKNOWN = -1;

    private static final int MAX_PORT = 65535;

    private final String launcher;
    private final Map<String, String> environment;
    private final Map<String, String> seen = new LinkedHashMap<>();
    private final List<String> problems = new ArrayList<>();
    private Optional<String> masterAddress = Optional.empty();
    private Optional<Integer> masterPort = Optional.empty();
    private int localRank = UNKNOWN;
    private int localWorldSize = UNKNOWN;
    private boolean storeIsHosted;
    private int restarts;

    /**
     * Creates a reader.
     *
     * @param launcher the name of the launcher, for messages
     * @param environment the variables of the process
     * @throws org.jccl.UsageException if the environment is null
     */
    public MembershipReader(String launcher, Map<String, String> environment) {
        this.launcher = launcher;
        this.environment = RankVariables.required(environment);
    }

    /**
     * Returns the value of the first of these variables that is set and not blank.
     *
     * @param names the variables
     * @return the value without spaces around it, or empty
     */
    public Optional<String> text(String... names) {
        for (String name : names) {
            String value = environment.get(name);
            seen.put(name, value);
            if (value != null && !value.isBlank()) {
                return Optional.of(value.strip());
            }
        }
        return Optional.empty();
    }

    /**
     * Returns a number. Adds a problem if the text of the variable is not a valid number.
     *
     * @param least the smallest valid number
     * @param names the variables; the first one that is set is used
     * @return the number, or {@link #UNKNOWN} if no variable holds one
     */
    public int optional(int least, String... names) {
        for (String name : names) {
            Optional<String> value = text(name);
            if (value.isPresent()) {
                return parse(name, value.get(), least, Integer.MAX_VALUE);
            }
        }
        return UNKNOWN;
    }

    /**
     * Same as {@link #optional}, but adds a problem if no variable is set.
     *
     * @param least the smallest valid number
     * @param meaning what to set the variable to, for the message
     * @param names the variables; the first one that is set is used
     * @return the number, or {@link #UNKNOWN}
     */
    public int required(int least, String meaning, String... names) {
        if (text(names).isEmpty()) {
            problem(String.join(" or ", names) + " is not set: set it to the " + meaning);
            return UNKNOWN;
        }
        return optional(least, names);
    }

    /**
     * Same as {@link #required}, but another source replaces a missing variable.
     *
     * @param other the number of the other source, for instance of a rank table
     * @param least the smallest valid number
     * @param meaning what to set the variable to, for the message
     * @param name the variable
     * @return the number, or {@link #UNKNOWN}
     */
    public int requiredOr(Optional<Integer> other, int least, String meaning, String name) {
        return other.isPresent() && text(name).isEmpty()
                ? other.get()
                : required(least, meaning, name);
    }

    private int parse(String name, String value, int least, int most) {
        try {
            int number = Integer.parseInt(value);
            if (number >= least && number <= most) {
                return number;
            }
        } catch (NumberFormatException notANumber) {
            // Reported below, like a number out of range.
        }
        String range = most == Integer.MAX_VALUE ? " or more" : " to " + most;
        problem(name + "=" + value + " must be a number, " + least + range);
        return UNKNOWN;
    }

    /**
     * Checks a variable that another launcher or the user may also have set.
     *
     * @param name the variable, for instance {@code RANK}
     * @param value the value of the launcher
     * @param origin the variable of the launcher, for instance {@code SLURM_PROCID}
     */
    public void mustAgree(String name, int value, String origin) {
        int other = optional(0, name);
        if (other != UNKNOWN && value != UNKNOWN && other != value) {
            problem(
                    "%s=%s contradicts %s, which gives %s: unset the one that is wrong"
                            .formatted(name, other, origin, value));
        }
    }

    /**
     * Sets the place of the process on its host.
     *
     * @param rank number among the ranks of this host, or {@link #UNKNOWN}
     * @param size number of ranks of this host, or {@link #UNKNOWN}
     * @return this reader
     */
    public MembershipReader local(int rank, int size) {
        localRank = rank;
        localWorldSize = size;
        return this;
    }

    /**
     * Reads {@code MASTER_ADDR} and {@code MASTER_PORT}, if they are set.
     *
     * @return this reader
     */
    public MembershipReader master() {
        masterAddress = host("MASTER_ADDR");
        masterPort = port("MASTER_PORT");
        return this;
    }

    /**
     * Reads {@code MASTER_ADDR} and {@code MASTER_PORT}. Adds a problem if they are missing.
     *
     * @return this reader
     */
    public MembershipReader requiredMaster() {
        master();
        if (masterAddress.isEmpty() && text("MASTER_ADDR").isEmpty()) {
            problem("MASTER_ADDR is not set: set it to the host of rank 0");
        }
        if (masterPort.isEmpty() && text("MASTER_PORT").isEmpty()) {
            problem("MASTER_PORT is not set: set it to a free port of the host of rank 0");
        }
        return this;
    }

    /** Sets the defaults for {@code MASTER_ADDR} and {@code MASTER_PORT}. */
    MembershipReader masterOrElse(Optional<String> address, Optional<Integer> port) {
        masterAddress = masterAddress.or(() -> address);
        masterPort = masterPort.or(() -> port);
        return this;
    }

    Optional<String> host(String name) {
        try {
            return text(name).map(value -> Endpoint.host(name, value));
        } catch (UsageException e) {
            problem(e.reason());
            return Optional.empty();
        }
    }

    Optional<Integer> port(String name) {
        return text(name)
                .map(value -> parse(name, value, 0, MAX_PORT))
                .filter(port -> port != UNKNOWN);
    }

    /** Reads whether the launcher serves the store. As in PyTorch, the text must match exactly. */
    MembershipReader agentStore() {
        seen.put(RankVariables.USE_AGENT_STORE, environment.get(RankVariables.USE_AGENT_STORE));
        storeIsHosted = "True".equals(environment.get(RankVariables.USE_AGENT_STORE));
        return this;
    }

    /** Reads how often the launcher has restarted the ranks. */
    MembershipReader restarts(String name) {
        restarts = Math.max(0, optional(0, name));
        return this;
    }

    /**
     * Adds a problem.
     *
     * @param text what is wrong and what to set
     */
    public void problem(String text) {
        if (!problems.contains(text)) {
            problems.add(text);
        }
    }

    /**
     * Returns the membership from the values that were read.
     *
     * @param rank the rank, or {@link #UNKNOWN} if that is a problem
     * @param worldSize the number of ranks, or {@link #UNKNOWN} if that is a problem
     * @return the membership of this process
     * @throws BootstrapException if there was a problem; the message names all of them
     */
    public Membership membership(int rank, int worldSize) {
        smaller("rank", rank, "world size", worldSize);
        smaller("local rank", localRank, "local world size", localWorldSize);
        if (localWorldSize > worldSize && worldSize != UNKNOWN) {
            problem("local world size " + localWorldSize + " exceeds world size " + worldSize);
        }
        if (!problems.isEmpty()) {
            throw new BootstrapException(FailureContext.NONE, explanation());
        }
        return new Membership(
                launcher,
                rank,
                worldSize,
                localRank,
                localWorldSize,
                masterAddress,
                masterPort,
                storeIsHosted,
                restarts);
    }

    private void smaller(String what, int value, String limitName, int limit) {
        if (value != UNKNOWN && limit != UNKNOWN && value >= limit) {
            problem(
                    "%s %s must be less than %s %s: correct the variable that is wrong"
                            .formatted(what, value, limitName, limit));
        }
    }

    private String explanation() {
        StringBuilder text = new StringBuilder("the variables of ");
        text.append(launcher).append(" do not define the rank of this process: ");
        text.append(String.join("; ", problems)).append(". Variables read:");
        seen.forEach(
                (name, value) ->
                        text.append(' ')
                                .append(name)
                                .append(value == null ? " (not set)" : "=" + value));
        return text.toString();
    }
}
