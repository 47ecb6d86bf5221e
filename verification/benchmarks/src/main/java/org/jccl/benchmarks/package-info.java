/** JMH benchmarks of the host's part of a collective; {@code script/bench/host-cost} runs them. */
package org.jccl.benchmarks;
