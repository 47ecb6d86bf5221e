/** Writes JSON, for recordings and for torchrun's error file. Uses no other package. */
package org.jccl.internal.json;
