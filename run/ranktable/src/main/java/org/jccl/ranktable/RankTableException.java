package org.jccl.ranktable;

import java.util.List;
import java.util.stream.Collectors;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.internal.checks.Counted;

/** A rank table cannot be read or is not valid. {@link #faults()} lists all faults. */
public final class RankTableException extends JcclException {

    private static final long serialVersionUID = 1L;

    /** The most faults in the message. */
    private static final int SHOWN = 20;

    private final transient List<Fault> faults;

    /**
     * A fault of a table.
     *
     * @param path the value it is about, as a JSONPath, for instance {@code
     *     $.node_list[0].device_list[2].rank}
     * @param line line of the text, from 1; 0 for a table that was made by a program
     * @param column column of the text, from 1; 0 for a table that was made by a program
     * @param message what is wrong with it, to be read after the path
     */
    public record Fault(String path, int line, int column, String message) {

        /** The path, its position, and what is wrong. */
        @Override
        public String toString() {
            String where = line == 0 ? "" : " (line " + line + ", column " + column + ")";
            return path + where + " " + message;
        }
    }

    RankTableException(String table, String reason, Throwable cause) {
        super(Category.USAGE, FailureContext.NONE, table + " " + reason, cause);
        faults = List.of();
    }

    RankTableException(String table, List<Fault> faults) {
        super(Category.USAGE, FailureContext.NONE, message(table, faults), null);
        this.faults = List.copyOf(faults);
    }

    private static String message(String table, List<Fault> faults) {
        String text =
                faults.stream()
                        .limit(SHOWN)
                        .map(fault -> "\n  " + fault)
                        .collect(Collectors.joining());
        String more = faults.size() > SHOWN ? "\n  and " + (faults.size() - SHOWN) + " more" : "";
        String count = Counted.text(faults.size(), "fault");
        return table + " has " + count + ":" + text + more;
    }

    /**
     * All faults of the table, in the order of the checks. The message shows the first 20. At most
     * 10,000 are retained; then the last one is the total number.
     *
     * @return the faults; empty if the file cannot be read at all, and after deserialisation
     */
    public List<Fault> faults() {
        return faults == null ? List.of() : faults;
    }
}
