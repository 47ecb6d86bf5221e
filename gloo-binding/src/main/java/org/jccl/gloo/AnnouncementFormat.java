package org.jccl.gloo;

import java.util.Optional;

/** How an announcement looks in the store. */
sealed interface AnnouncementFormat permits OwnAnnouncementFormat, TorchAnnouncementFormat {

    /** Under which key a rank announces itself. */
    String key(int rank);

    /** Under which key it does so anew at another address; empty where its peers do not look. */
    Optional<String> newKey(int rank);

    /**
     * Whether all ranks are JCCL's, which tell each other through rank 0 and meet at a barrier once
     * they are connected.
     */
    boolean meets();

    /** The announcement of a rank of a group of {@code size}. */
    byte[] encode(Announcement announcement, int size);

    /** The inverse. */
    Announcement decode(byte[] value, int size);
}
