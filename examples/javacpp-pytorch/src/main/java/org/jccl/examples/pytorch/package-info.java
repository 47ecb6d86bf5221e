/** Training by PyTorch's autograd on several ranks. A program to copy from. */
package org.jccl.examples.pytorch;
