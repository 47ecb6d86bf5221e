/**
 * The implementations of the interfaces of {@code org.jccl}. {@link
 * org.jccl.internal.api.Operations} has each operation once: its arguments, their checks, and what
 * the engine gets. A group submits it, its synchronous view runs it, and a batch collects it. The
 * top of this module: nothing depends on it, and {@code org.jccl} finds it as a service. No lock of
 * its own: a batch belongs to one thread, and groups and tensors leave that to what they use.
 */
package org.jccl.internal.api;
