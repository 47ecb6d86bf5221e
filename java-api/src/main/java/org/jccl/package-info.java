/**
 * The API a training program uses: process groups, tensors, works, and the exceptions they throw.
 */
package org.jccl;
