/**
 * The launchers that come with rank tables, as services for {@code org.jccl.bootstrap}. No state.
 */
package org.jccl.ranktable.service;
