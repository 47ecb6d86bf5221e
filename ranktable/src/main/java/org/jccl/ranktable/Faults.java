package org.jccl.ranktable;

import java.util.ArrayList;
import java.util.List;
import org.jccl.ranktable.json.Json;
import org.jccl.ranktable.json.JsonFault;
import org.jccl.ranktable.json.JsonPath;

/** Collects what is wrong with a table. A file of nothing but faults must not fill the memory. */
final class Faults {

    static final int KEPT = 10_000;

    private final List<RankTableException.Fault> list = new ArrayList<>();
    private int count;

    void add(JsonFault fault) {
        count++;
        if (count <= KEPT) {
            Json.Position at = fault.at();
            String path = fault.path().toString();
            list.add(new RankTableException.Fault(path, at.line(), at.column(), fault.message()));
        }
    }

    /** Throws what was collected, if there is anything. */
    void throwIfAny(String table) {
        if (count > KEPT) {
            String message = "has " + count + " faults; the first " + KEPT + " are listed";
            String root = JsonPath.ROOT.toString();
            list.add(new RankTableException.Fault(root, 1, 1, message));
        }
        if (count > 0) {
            throw new RankTableException(table, list);
        }
    }
}
