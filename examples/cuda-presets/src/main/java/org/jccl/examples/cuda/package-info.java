/** A program that drives the GPU with JavaCPP's presets for CUDA. */
package org.jccl.examples.cuda;
