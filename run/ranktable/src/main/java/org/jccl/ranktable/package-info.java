/**
 * Rank tables: files that say which device of which node each rank of a job uses. {@link
 * org.jccl.ranktable.RankTable} reads and checks them, {@link org.jccl.ranktable.RankTableBuilder}
 * makes them.
 */
package org.jccl.ranktable;
