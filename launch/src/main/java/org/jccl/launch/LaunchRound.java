package org.jccl.launch;

/**
 * One start of all ranks of a job: a static job has one for each restart, an elastic one also for
 * each change of its nodes.
 *
 * @param attempt how often the ranks were started before
 * @param restarts how many of these starts failed
 * @param nodes number of launchers that take part
 * @param nodeRank which of them this is
 * @param masterAddress host of the ranks' store
 * @param masterPort its port
 */
record LaunchRound(
        int attempt, int restarts, int nodes, int nodeRank, String masterAddress, int masterPort) {}
