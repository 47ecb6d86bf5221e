package org.jccl.launch;

import java.util.List;

/**
 * Ranks of a job that run the same command.
 *
 * @param name name of the role
 * @param ranks how many of them each node starts
 * @param command what they run
 */
record LaunchRole(String name, int ranks, List<String> command) {}
