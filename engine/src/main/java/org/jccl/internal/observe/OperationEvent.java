package org.jccl.internal.observe;

import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Timespan;

/** What collectives and messages have in common in a JFR recording. */
abstract class OperationEvent extends Event {

    @Label("Group")
    String group;

    @Label("Rank")
    @Description("Rank in the group")
    int rank;

    @Label("Backend")
    String backend;

    @Label("Operation")
    String operation;

    @Label("Sequence")
    @Description(
            "Position among the group's collectives, or among the messages with one peer and tag")
    long sequence;

    @Label("Data Type")
    String dataType;

    @Label("Bytes")
    @Description("Size of this rank's tensor, the larger one of input and output")
    @DataAmount
    long bytes;

    @Label("Device Time")
    @Description("Time between the device's events before and after the operation, if known")
    @Timespan
    long deviceTime;

    @Label("Issuing Thread")
    Thread issuer;

    @Label("Failure")
    @Description("Why it failed; missing where it completed")
    String failure;
}
