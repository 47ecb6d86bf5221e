/**
 * Training with the Deep Java Library: {@link org.jccl.examples.djl.ConvNetTraining} trains a small
 * network on several ranks and checks the result.
 */
package org.jccl.examples.djl;
