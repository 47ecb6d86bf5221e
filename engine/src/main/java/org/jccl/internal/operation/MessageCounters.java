package org.jccl.internal.operation;

import org.jccl.spi.OperationKind;

/**
 * Numbers messages: the n-th send to a peer with a tag matches the n-th receive from it with that
 * tag. It is a hash table of numbers with open addressing, because each message uses it and must
 * not allocate.
 *
 * <p>A program that generates tags would let the table grow forever, and if a number were
 * forgotten, both sides would number differently. So the first 65,536 pairs of peer and tag are
 * numbered, which takes 2 MiB. Messages of later pairs have no number.
 */
final class MessageCounters {

    /** The number of a message that is not numbered. */
    static final long NONE = -1;

    private static final int FIRST_CAPACITY = 16;
    private static final int MAX_CHANNELS = 1 << 16;

    /** A power of two; 0 marks a free slot. */
    private long[] channels = new long[FIRST_CAPACITY];

    private long[] counts = new long[FIRST_CAPACITY];
    private int used;

    /**
     * Numbers a message.
     *
     * @return the number from 0 on, or {@link #NONE} if there are too many pairs of peer and tag
     */
    long next(OperationKind kind, int peer, int tag) {
        long channel = ((long) peer << 32 | tag) << 1 | (kind == OperationKind.SEND ? 1 : 0);
        int slot = slot(channel + 1);
        if (channels[slot] == 0) {
            if (used == MAX_CHANNELS) {
                return NONE;
            }
            if (used == channels.length / 2) {
                grow();
                slot = slot(channel + 1);
            }
            channels[slot] = channel + 1;
            used++;
        }
        return counts[slot]++;
    }

    /** Returns the slot of a channel, or a free one for it. */
    private int slot(long channel) {
        long mixed = channel * 0x9E3779B97F4A7C15L; // spreads neighbours, by the golden ratio
        int slot = (int) (mixed >>> 32) & channels.length - 1;
        while (channels[slot] != 0 && channels[slot] != channel) {
            slot = slot + 1 & channels.length - 1;
        }
        return slot;
    }

    private void grow() {
        long[] oldChannels = channels;
        long[] oldCounts = counts;
        channels = new long[2 * oldChannels.length];
        counts = new long[2 * oldCounts.length];
        for (int i = 0; i < oldChannels.length; i++) {
            if (oldChannels[i] != 0) {
                int slot = slot(oldChannels[i]);
                channels[slot] = oldChannels[i];
                counts[slot] = oldCounts[i];
            }
        }
    }
}
