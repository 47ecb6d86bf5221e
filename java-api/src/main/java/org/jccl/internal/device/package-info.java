/** Streams and events of devices, as programs have them. */
package org.jccl.internal.device;
