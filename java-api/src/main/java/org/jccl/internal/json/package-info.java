/** Reading and writing JSON, for files that users write by hand. */
package org.jccl.internal.json;
