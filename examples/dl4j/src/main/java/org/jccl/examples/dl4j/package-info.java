/**
 * Training with Deeplearning4j: {@link org.jccl.examples.dl4j.ConvNetTraining} trains a small
 * network on several ranks and checks the result. {@link org.jccl.examples.dl4j.AveragingListener}
 * is all that a program needs.
 */
package org.jccl.examples.dl4j;
