/**
 * The Gloo backend. Programs need only {@link org.jccl.gloo.GlooOptions}, and only for settings
 * other than the defaults.
 */
package org.jccl.gloo;
