package org.jccl.bootstrap;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jccl.BootstrapException;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.bootstrap.RankTableSource.LocalPlace;
import org.jccl.internal.rendezvous.RankVariables;

/**
 * Reads one launcher's variables. Whatever is wrong is collected, so that {@link #membership} can
 * report everything at once, beside the value of every variable that was looked at.
 */
final class MembershipReader {

    /** What a number is when its variable is not set or not readable. */
    static final int UNKNOWN = -1;

    private static final int HIGHEST_PORT = 65535;

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

    MembershipReader(String launcher, Map<String, String> environment) {
        this.launcher = launcher;
        this.environment = RankVariables.required(environment);
    }

    /** The value of the first of these variables that is set and not blank. */
    Optional<String> text(String... names) {
        for (String name : names) {
            String value = environment.get(name);
            seen.put(name, value);
            if (value != null && !value.isBlank()) {
                return Optional.of(value.strip());
            }
        }
        return Optional.empty();
    }

    /** A number of at least {@code least}, or {@link #UNKNOWN} when no variable holds one. */
    int optional(int least, String... names) {
        for (String name : names) {
            Optional<String> value = text(name);
            if (value.isPresent()) {
                return parse(name, value.get(), least, Integer.MAX_VALUE);
            }
        }
        return UNKNOWN;
    }

    /** Like {@link #optional}; that nothing is set is a problem. */
    int required(int least, String meaning, String... names) {
        if (text(names).isEmpty()) {
            problem(String.join(" or ", names) + " is not set: set it to the " + meaning);
            return UNKNOWN;
        }
        return optional(least, names);
    }

    /** Like {@link #required}, but where nothing is set and a table says it, that counts. */
    int requiredOr(Optional<Integer> ofTable, int least, String meaning, String name) {
        return ofTable.isPresent() && text(name).isEmpty()
                ? ofTable.get()
                : required(least, meaning, name);
    }

    /** The table that {@code RANK_TABLE_FILE} names; that it is not valid is a problem. */
    Optional<List<LocalPlace>> rankTable() {
        text(RankTables.VARIABLE);
        try {
            return RankTables.read(environment);
        } catch (JcclException e) {
            problem(e.getMessage());
            return Optional.empty();
        }
    }

    private int parse(String name, String value, int least, int most) {
        try {
            int number = Integer.parseInt(value);
            if (number >= least && number <= most) {
                return number;
            }
        } catch (NumberFormatException notANumber) {
            // Reported below, as a number out of range is.
        }
        String range = most == Integer.MAX_VALUE ? " or more" : " to " + most;
        problem(name + "=" + value + " must be a number, " + least + range);
        return UNKNOWN;
    }

    /**
     * A variable that another launcher or the user may have set as well must say the same.
     *
     * @param name the variable that is checked, for instance {@code RANK}
     * @param value what the launcher says
     * @param origin where the launcher says so, for instance {@code SLURM_PROCID}
     */
    void mustAgree(String name, int value, String origin) {
        int other = optional(0, name);
        if (other != UNKNOWN && value != UNKNOWN && other != value) {
            problem(
                    "%s=%s contradicts %s, which gives %s: unset the one that is wrong"
                            .formatted(name, other, origin, value));
        }
    }

    MembershipReader local(int rank, int size) {
        localRank = rank;
        localWorldSize = size;
        return this;
    }

    /** {@code MASTER_ADDR} and {@code MASTER_PORT}, where they are set. */
    MembershipReader master() {
        masterAddress = text("MASTER_ADDR");
        masterPort = port("MASTER_PORT");
        return this;
    }

    /** {@code MASTER_ADDR} and {@code MASTER_PORT}, where that they are missing is a problem. */
    MembershipReader requiredMaster() {
        master();
        if (masterAddress.isEmpty()) {
            problem("MASTER_ADDR is not set: set it to the host of rank 0");
        }
        if (masterPort.isEmpty() && text("MASTER_PORT").isEmpty()) {
            problem("MASTER_PORT is not set: set it to a free port of the host of rank 0");
        }
        return this;
    }

    /** What to use where {@code MASTER_ADDR} or {@code MASTER_PORT} are not set. */
    MembershipReader masterOrElse(Optional<String> address, Optional<Integer> port) {
        masterAddress = masterAddress.or(() -> address);
        masterPort = masterPort.or(() -> port);
        return this;
    }

    Optional<Integer> port(String name) {
        return text(name)
                .map(value -> parse(name, value, 0, HIGHEST_PORT))
                .filter(port -> port != UNKNOWN);
    }

    /** Torch's word for "the launcher serves the store"; nothing but the exact text counts. */
    MembershipReader agentStore() {
        seen.put(RankVariables.USE_AGENT_STORE, environment.get(RankVariables.USE_AGENT_STORE));
        storeIsHosted = "True".equals(environment.get(RankVariables.USE_AGENT_STORE));
        return this;
    }

    /** How often the launcher has started the ranks again. */
    MembershipReader restarts(String name) {
        restarts = Math.max(0, optional(0, name));
        return this;
    }

    void problem(String text) {
        if (!problems.contains(text)) {
            problems.add(text);
        }
    }

    Membership membership(int rank, int worldSize) {
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
        text.append(launcher).append(" do not say which rank this is: ");
        text.append(String.join("; ", problems)).append(". Variables read:");
        seen.forEach(
                (name, value) ->
                        text.append(' ')
                                .append(name)
                                .append(value == null ? " (not set)" : "=" + value));
        return text.toString();
    }
}
