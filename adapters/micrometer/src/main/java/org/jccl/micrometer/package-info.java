/** Metrics of process groups for Micrometer. */
package org.jccl.micrometer;
