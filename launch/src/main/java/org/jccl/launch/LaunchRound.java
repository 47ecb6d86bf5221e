package org.jccl.launch;

/**
 * One start of all ranks of a job: a static job has one for each restart, an elastic one also for
 * each change of its nodes.
 *
 * @param attempt the number of earlier starts
 * @param restarts the number of earlier starts that failed
 * @param nodes number of launchers that take part
 * @param nodeRank the number of this launcher
 * @param masterAddress host of the ranks' store
 * @param masterPort its port
 */
record LaunchRound(
        int attempt, int restarts, int nodes, int nodeRank, String masterAddress, int masterPort) {}
