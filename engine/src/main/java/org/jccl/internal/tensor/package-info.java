/**
 * Tensors: where the elements are, what keeps their memory, and how arrays get in and out. Uses
 * memory, and device for the current stream. No lock of its own.
 */
package org.jccl.internal.tensor;
