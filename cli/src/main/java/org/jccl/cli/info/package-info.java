/** What is there on this machine: {@code jccl info}. */
package org.jccl.cli.info;
