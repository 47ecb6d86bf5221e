/**
 * What every caller's argument must be, whatever it is for. Uses {@code org.jccl} only. No state,
 * and so no lock.
 */
package org.jccl.internal.checks;
