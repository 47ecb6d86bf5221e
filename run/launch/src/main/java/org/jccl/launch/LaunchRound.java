package org.jccl.launch;

/**
 * One start of all ranks of a job.
 *
 * @param attempt the number of earlier starts
 * @param nodes number of launchers that take part
 * @param nodeRank the number of this launcher
 * @param masterAddress host of the ranks' store
 * @param masterPort its port
 */
record LaunchRound(int attempt, int nodes, int nodeRank, String masterAddress, int masterPort) {}
