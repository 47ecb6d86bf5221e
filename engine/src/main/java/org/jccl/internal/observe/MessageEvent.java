package org.jccl.internal.observe;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** A send or receive, from handing it to the library until this rank noticed its end. */
@Name("org.jccl.Message")
@Label("Message")
@Category("JCCL")
@Description("A send or receive, from handing it to the library until this rank noticed its end")
@StackTrace(false)
final class MessageEvent extends OperationEvent {

    @Label("Peer")
    @Description("Rank in the group it goes to or comes from, -1 for a receive from any")
    int peer;
}
