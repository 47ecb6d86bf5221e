/**
 * Process groups inside: one engine for each kind of device, sub-groups, and what the members of a
 * world agree on through the store. Uses both engines. One monitor around the counters of groups
 * made, under which nothing is called.
 */
package org.jccl.internal.group;
