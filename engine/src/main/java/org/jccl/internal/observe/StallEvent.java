package org.jccl.internal.observe;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import jdk.jfr.Timespan;

/** An operation runs for a long time, and may still complete. */
@Name("org.jccl.Stall")
@Label("Stall")
@Category("JCCL")
@Description("An operation has run for longer than a second; reported once for each, while it runs")
@StackTrace(false)
final class StallEvent extends Event {

    @Label("Group")
    String group;

    @Label("Rank")
    @Description("Rank in the group")
    int rank;

    @Label("Backend")
    String backend;

    @Label("Operation")
    @Description("The operation with its arguments")
    String operation;

    @Label("Sequence")
    @Description(
            "Position among the group's collectives, or among the messages with one peer and tag")
    long sequence;

    @Label("So Far")
    @Description("How long it has run")
    @Timespan
    long soFar;
}
