/**
 * A barrier stage of Apache Spark as a world of ranks: {@link org.jccl.spark.JcclSpark} starts one,
 * or joins from a stage that is there already. Each rank has one lock, that of its list of groups;
 * no other is taken inside.
 */
package org.jccl.spark;
