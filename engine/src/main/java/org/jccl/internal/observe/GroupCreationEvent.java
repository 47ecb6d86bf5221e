package org.jccl.internal.observe;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import jdk.jfr.Timespan;

/** A group was made on one backend. */
@Name("org.jccl.GroupCreation")
@Label("Group Creation")
@Category("JCCL")
@Description("A process group was made on one backend")
@StackTrace(false)
final class GroupCreationEvent extends Event {

    @Label("Group")
    String group;

    @Label("Rank")
    @Description("Rank in the group")
    int rank;

    @Label("Size")
    @Description("Number of ranks")
    int size;

    @Label("World Rank")
    int worldRank;

    @Label("Backend")
    String backend;

    @Label("Device")
    String device;

    @Label("Took")
    @Description("How long forming it took, all ranks' arrival included")
    @Timespan
    long took;
}
