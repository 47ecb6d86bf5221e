package org.jccl.launch;

import java.util.List;
import org.jccl.store.StoreServer;

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
 * @param servers the servers of the store, if it is replicated
 */
record LaunchRound(
        int attempt,
        int restarts,
        int nodes,
        int nodeRank,
        String masterAddress,
        int masterPort,
        List<StoreServer> servers) {}
