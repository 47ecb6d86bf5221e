/** A process group as the network of LightGBM. */
package org.jccl.lightgbm;
