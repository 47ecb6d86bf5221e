package org.jccl.internal.operation;

import org.jccl.spi.OperationKind;

/**
 * Numbers messages: the n-th send to a peer with a tag meets the n-th receive from it with that
 * tag. A hash table of numbers with open addressing, since each message looks into it and must
 * leave no garbage.
 *
 * <p>A program that makes up tags as it goes would let the table grow for ever, and forgetting a
 * number would have the sides number differently. So the first 65,536 pairs of peer and tag are
 * numbered, which takes 2 MiB, and messages of later ones have no number.
 */
final class MessageCounters {

    /** What a message has that is not numbered. */
    static final long NONE = -1;

    private static final int FIRST_CAPACITY = 16;
    private static final int MOST_CHANNELS = 1 << 16;

    /** A power of two; 0 where there is none. */
    private long[] channels = new long[FIRST_CAPACITY];

    private long[] counts = new long[FIRST_CAPACITY];
    private int used;

    /**
     * Numbers a message.
     *
     * @return the number from 0 on, or {@link #NONE} where there are too many pairs of peer and tag
     */
    long next(OperationKind kind, int peer, int tag) {
        long channel = ((long) peer << 32 | tag) << 1 | (kind == OperationKind.SEND ? 1 : 0);
        int place = place(channel + 1);
        if (channels[place] == 0) {
            if (used == MOST_CHANNELS) {
                return NONE;
            }
            if (used == channels.length / 2) {
                grow();
                place = place(channel + 1);
            }
            channels[place] = channel + 1;
            used++;
        }
        return counts[place]++;
    }

    /** Where a channel is, or is to be. */
    private int place(long channel) {
        long mixed = channel * 0x9E3779B97F4A7C15L; // spreads neighbours, by the golden ratio
        int place = (int) (mixed >>> 32) & channels.length - 1;
        while (channels[place] != 0 && channels[place] != channel) {
            place = place + 1 & channels.length - 1;
        }
        return place;
    }

    private void grow() {
        long[] oldChannels = channels;
        long[] oldCounts = counts;
        channels = new long[2 * oldChannels.length];
        counts = new long[2 * oldCounts.length];
        for (int i = 0; i < oldChannels.length; i++) {
            if (oldChannels[i] != 0) {
                int place = place(oldChannels[i]);
                channels[place] = oldChannels[i];
                counts[place] = oldCounts[i];
            }
        }
    }
}
