/** Writes JSON, for recordings and for torchrun's file of errors. Uses nothing else. */
package org.jccl.internal.json;
