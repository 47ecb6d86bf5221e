package org.jccl.launch;

import java.util.List;

/**
 * Ranks of a job that run the same command.
 *
 * @param name the name of the role
 * @param ranks the number that each node starts
 * @param command the command that they run
 */
record LaunchRole(String name, int ranks, List<String> command) {}
