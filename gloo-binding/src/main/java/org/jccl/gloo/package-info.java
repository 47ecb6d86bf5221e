/** The Gloo backend. Programs need only {@link org.jccl.gloo.GlooOptions}, and that rarely. */
package org.jccl.gloo;
