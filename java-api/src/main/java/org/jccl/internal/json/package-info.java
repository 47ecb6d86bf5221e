/**
 * Reading JSON of files that users write by hand, and writing it. Uses nothing of this module. No
 * lock: readers and writers belong to one thread.
 */
package org.jccl.internal.json;
