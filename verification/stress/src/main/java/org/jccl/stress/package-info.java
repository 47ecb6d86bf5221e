/** Classes without locks, under jcstress. */
package org.jccl.stress;
