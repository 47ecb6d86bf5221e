/**
 * The implementations of the interfaces of {@code org.jccl}, and the checks of the arguments they
 * get. The top of this module: nothing depends on it, and {@code org.jccl} finds it as a service.
 * No lock of its own: a batch belongs to one thread, and groups and tensors leave that to what they
 * use.
 */
package org.jccl.internal.api;
