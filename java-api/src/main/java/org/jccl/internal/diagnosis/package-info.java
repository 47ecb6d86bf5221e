/**
 * Why something is stuck: a thread with a store connection of its own, and the comparison of ranks
 * through the store. Uses operations, as descriptions. Its monitors are held while the store is
 * asked, on the diagnosis thread; nobody else waits for them longer than a second.
 */
package org.jccl.internal.diagnosis;
