/**
 * Programs to copy from: {@link org.jccl.examples.AllReduceHello} is the shortest one, {@link
 * org.jccl.examples.DigitsTraining} trains a network on several ranks and checks the result.
 */
package org.jccl.examples;
