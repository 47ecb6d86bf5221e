/** The API of a training program: process groups, tensors, works, and the exceptions they throw. */
package org.jccl;
