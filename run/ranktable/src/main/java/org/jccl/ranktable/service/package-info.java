/** Rank tables as a source of rank and size for {@code org.jccl.bootstrap}. No state. */
package org.jccl.ranktable.service;
