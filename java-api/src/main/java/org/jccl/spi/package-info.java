/** What a binding implements, and the little it may use to do so. */
package org.jccl.spi;
