/** Writes JSON: recordings, torchrun's error file, rank tables. Uses no other package. */
package org.jccl.internal.json;
