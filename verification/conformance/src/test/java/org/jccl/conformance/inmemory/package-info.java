/**
 * A backend for tests: ranks are threads of this process and share memory. It is registered
 * nowhere; tests hand its provider over. Strict where a native library would corrupt memory, and
 * silent where ranks do not match, so that what resolves it is the engine.
 */
package org.jccl.conformance.inmemory;
