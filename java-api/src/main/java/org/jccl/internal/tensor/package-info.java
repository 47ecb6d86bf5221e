/** Tensors: where the elements are, what keeps their memory, and how arrays get in and out. */
package org.jccl.internal.tensor;
