/** Checks of arguments, for every caller. Uses {@code org.jccl} only. Has no state and no lock. */
package org.jccl.internal.checks;
