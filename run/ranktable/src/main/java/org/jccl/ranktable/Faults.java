package org.jccl.ranktable;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.jccl.ranktable.json.Json;
import org.jccl.ranktable.json.JsonFault;
import org.jccl.ranktable.json.JsonPath;

/**
 * Collects the faults of a table, up to a limit, so that a broken file does not fill the memory.
 */
final class Faults {

    static final int MAX = 10_000;

    private final List<RankTableException.Fault> list = new ArrayList<>();
    private final List<Refusal> refusals = new ArrayList<>();
    private int count;

    /**
     * A fault for which only some chips refuse the table.
     *
     * @param fault the fault
     * @param chips those chips; none if HCCL takes it
     */
    record Refusal(RankTableException.Fault fault, Set<AscendChip> chips) {}

    /** Adds a fault for which nobody takes the table. */
    void add(JsonFault fault) {
        count++;
        if (count <= MAX) {
            list.add(fault(fault));
        }
    }

    /** Adds a fault for which only these chips refuse the table. */
    void add(JsonFault fault, Set<AscendChip> chips) {
        if (refusals.size() < MAX) {
            refusals.add(new Refusal(fault(fault), chips));
        }
    }

    private static RankTableException.Fault fault(JsonFault fault) {
        Json.Position at = fault.at();
        return new RankTableException.Fault(
                fault.path().toString(), at.line(), at.column(), fault.message());
    }

    /** What only some chips refuse. */
    List<Refusal> refusals() {
        return refusals;
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
