/**
 * JSON with the path and the line of each value, which the messages about a faulty table need. A
 * value is immutable; there is no lock.
 */
package org.jccl.ranktable.json;
