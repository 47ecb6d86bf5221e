/** What the tests of several modules of this project share; the conformance suite is apart. */
package org.jccl.testing;
