/**
 * What every backend must do, as tests. A binding extends {@link
 * org.jccl.conformance.ConformanceTest} and says how its ranks join; all cases come with it.
 */
package org.jccl.conformance;
