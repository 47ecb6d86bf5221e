/**
 * The store at which the ranks of a job meet: who serves it, to which run it belongs, and the
 * variables that say so. {@code org.jccl.bootstrap} and the launcher of {@code org.jccl.launch}
 * share it. No lock of its own.
 */
package org.jccl.internal.rendezvous;
