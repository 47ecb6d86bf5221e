package org.jccl.internal.observe;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** A collective, from handing it to the library until this rank noticed its end. */
@Name("org.jccl.Collective")
@Label("Collective")
@Category("JCCL")
@Description(
        "A collective, from handing it to the library until this rank noticed its end, with what it"
                + " waited for other ranks")
@StackTrace(false)
final class CollectiveEvent extends OperationEvent {

    @Label("Root")
    @Description("Rank in the group, -1 where there is none")
    int root;
}
