/** Who am I and where is everybody: launchers' environments and init methods. */
package org.jccl.bootstrap;
