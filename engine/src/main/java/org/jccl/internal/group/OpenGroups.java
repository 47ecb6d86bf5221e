package org.jccl.internal.group;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.jccl.spi.CleanUp;

/**
 * Warns once at the end of a process that has open groups: operations in flight are lost then, and
 * other ranks may wait for them. The shutdown hook exists only while a group is open, so it keeps
 * no class loader.
 */
final class OpenGroups {

    private static final int MAX_NAMED = 4;

    private static final Set<Group> OPEN = new LinkedHashSet<>();

    /** Null while no group is open. */
    private static Thread hook;

    private OpenGroups() {}

    static synchronized void add(Group group) {
        OPEN.add(group);
        if (hook == null) {
            Thread made = new Thread(OpenGroups::warn, "jccl-open-groups");
            try {
                Runtime.getRuntime().addShutdownHook(made);
                hook = made;
            } catch (IllegalStateException e) {
                CleanUp.log(group.context().toString(), "made while the process ends");
            }
        }
    }

    static synchronized void remove(Group group) {
        if (OPEN.remove(group) && OPEN.isEmpty() && hook != null) {
            try {
                Runtime.getRuntime().removeShutdownHook(hook);
                hook = null;
            } catch (IllegalStateException e) {
                return; // the process ends, and the hook finds no group
            }
        }
    }

    private static void warn() {
        if (endsBySignal()) {
            return; // not the program's mistake: a launcher ends all ranks so
        }
        List<String> open;
        synchronized (OpenGroups.class) {
            open =
                    OPEN.stream()
                            .filter(group -> group.failure().isEmpty())
                            .map(OpenGroups::describe)
                            .toList();
        }
        if (!open.isEmpty()) {
            String more =
                    open.size() > MAX_NAMED ? " and " + (open.size() - MAX_NAMED) + " more" : "";
            // Not a logger: the logging of the JDK ends in a shutdown hook of its own.
            System.err.println(
                    "JCCL: the process ends with open groups: "
                            + open.stream().limit(MAX_NAMED).collect(Collectors.joining(", "))
                            + more
                            + ". Call await() on each Work, and close() on each group before the"
                            + " program ends.");
        }
    }

    /** The JVM handles SIGTERM, SIGINT and SIGHUP on a thread that waits for the hooks. */
    private static boolean endsBySignal() {
        return Thread.getAllStackTraces().keySet().stream()
                .anyMatch(thread -> thread.getName().matches("SIG(TERM|INT|HUP) handler"));
    }

    private static String describe(Group group) {
        int operations = group.operationsInFlight();
        return operations == 0
                ? group.context().toString()
                : "%s (%s operations in flight, whose results are lost)"
                        .formatted(group.context(), operations);
    }
}
