/**
 * The implementations of the interfaces of {@code org.jccl}, and the checks of the arguments they
 * get. The top of this module: nothing depends on it, and {@code org.jccl} finds it as a service.
 */
package org.jccl.internal.api;
