package org.jccl.internal.observe;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;

/** A group failed or was aborted. */
@Name("org.jccl.GroupFailure")
@Label("Group Failure")
@Category("JCCL")
@Description("A process group failed or was aborted; with the thread that noticed it")
final class GroupFailureEvent extends Event {

    @Label("Group")
    String group;

    @Label("Rank")
    @Description("Rank in the group")
    int rank;

    @Label("Backend")
    String backend;

    @Label("Kind")
    @Description("Class of the exception")
    String kind;

    @Label("Reason")
    @Description("The first failure, in words")
    String reason;
}
