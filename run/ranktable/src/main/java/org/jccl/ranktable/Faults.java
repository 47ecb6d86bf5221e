package org.jccl.ranktable;

import java.util.ArrayList;
import java.util.List;
import org.jccl.ranktable.json.Json;
import org.jccl.ranktable.json.JsonFault;
import org.jccl.ranktable.json.JsonPath;

/**
 * Collects the faults of a table, up to a limit, so that a broken file does not fill the memory.
 */
final class Faults {

    static final int MAX = 10_000;

    private final List<RankTableException.Fault> list = new ArrayList<>();
    private int count;

    void add(JsonFault fault) {
        count++;
        if (count <= MAX) {
            Json.Position at = fault.at();
            String path = fault.path().toString();
            list.add(new RankTableException.Fault(path, at.line(), at.column(), fault.message()));
        }
    }

    /** Throws the faults, if there are any. */
    void throwIfAny(String table) {
        if (count > MAX) {
            String message = "has " + count + " faults; the first " + MAX + " are listed";
            String root = JsonPath.ROOT.toString();
            list.add(new RankTableException.Fault(root, 1, 1, message));
        }
        if (count > 0) {
            throw new RankTableException(table, list);
        }
    }
}
