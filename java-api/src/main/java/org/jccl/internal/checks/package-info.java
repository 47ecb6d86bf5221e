/** What every caller's argument must be, whatever it is for. Uses {@code org.jccl} only. */
package org.jccl.internal.checks;
