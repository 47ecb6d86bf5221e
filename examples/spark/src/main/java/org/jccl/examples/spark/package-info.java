/** Training on the executors of a Spark cluster, and the same training without Spark. */
package org.jccl.examples.spark;
