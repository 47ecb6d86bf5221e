/** Random operations under random faults; the entry point is {@link org.jccl.soak.Soak}. */
package org.jccl.soak;
