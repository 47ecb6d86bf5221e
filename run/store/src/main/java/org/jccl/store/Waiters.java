package org.jccl.store;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jccl.store.ServerConnection.Wait;

/**
 * Connections with a pending WAIT or BARRIER. A connection that waits for several keys is listed
 * only under the first missing one, and moves to the next when that key is set. Before it is
 * released, all its keys are checked again, because some may have been deleted meanwhile.
 */
final class Waiters {

    private final KeySpace keys;
    private final Map<String, Set<ServerConnection>> byKey = new HashMap<>();
    private final Map<String, Set<ServerConnection>> byCounter = new HashMap<>();

    Waiters(KeySpace keys) {
        this.keys = keys;
    }

    /** Returns true if all keys exist. Otherwise registers the connection and returns false. */
    boolean existOrWait(ServerConnection connection, List<String> wanted) {
        return advance(connection, new Wait.ForKeys(wanted, 0));
    }

    void waitForCount(ServerConnection connection, String counter, long worldSize) {
        connection.wait = new Wait.ForCount(counter, worldSize);
        byCounter.computeIfAbsent(counter, name -> new LinkedHashSet<>()).add(connection);
    }

    /** Returns the connections whose wait ends because a key was set or a queue is not empty. */
    List<ServerConnection> keyAppeared(String key) {
        Set<ServerConnection> waiting = byKey.remove(key);
        if (waiting == null) {
            return List.of();
        }
        List<ServerConnection> released = new ArrayList<>();
        for (ServerConnection connection : waiting) {
            if (advance(connection, (Wait.ForKeys) connection.wait)) {
                released.add(connection);
            }
        }
        return released;
    }

    /** Returns the connections whose barrier is complete at this value of the counter. */
    List<ServerConnection> counted(String counter, long value) {
        Set<ServerConnection> waiting = byCounter.getOrDefault(counter, Set.of());
        List<ServerConnection> released = new ArrayList<>();
        for (Iterator<ServerConnection> each = waiting.iterator(); each.hasNext(); ) {
            ServerConnection connection = each.next();
            if (((Wait.ForCount) connection.wait).worldSize() <= value) {
                each.remove();
                connection.wait = null;
                released.add(connection);
            }
        }
        if (waiting.isEmpty()) {
            byCounter.remove(counter);
        }
        return released;
    }

    /** Cancels the wait of a connection, if any. */
    void cancel(ServerConnection connection) {
        if (connection.wait instanceof Wait.ForKeys wait) {
            remove(byKey, wait.keys().get(wait.next()), connection);
        } else if (connection.wait instanceof Wait.ForCount wait) {
            remove(byCounter, wait.key(), connection);
        }
        connection.wait = null;
    }

    private boolean advance(ServerConnection connection, Wait.ForKeys wait) {
        int missing = firstMissing(wait.keys(), wait.next());
        if (missing < 0 && wait.next() > 0) {
            missing = firstMissing(wait.keys(), 0);
        }
        if (missing < 0) {
            connection.wait = null;
            return true;
        }
        connection.wait = new Wait.ForKeys(wait.keys(), missing);
        byKey.computeIfAbsent(wait.keys().get(missing), name -> new LinkedHashSet<>())
                .add(connection);
        return false;
    }

    private int firstMissing(List<String> wanted, int from) {
        for (int i = from; i < wanted.size(); i++) {
            if (!keys.contains(wanted.get(i))) {
                return i;
            }
        }
        return -1;
    }

    private static void remove(
            Map<String, Set<ServerConnection>> waiting, String key, ServerConnection connection) {
        waiting.computeIfPresent(
                key,
                (name, connections) -> {
                    connections.remove(connection);
                    return connections.isEmpty() ? null : connections;
                });
    }
}
