package org.jccl.gloo;

import java.util.Optional;

/** The format of an announcement in the store. */
sealed interface AnnouncementFormat permits OwnAnnouncementFormat, TorchAnnouncementFormat {

    /** Returns the key under which a rank announces itself. */
    String key(int rank);

    /**
     * Returns the key of a second announcement with another address; empty if peers do not read it.
     */
    Optional<String> newKey(int rank);

    /**
     * Returns whether all ranks are JCCL's, which exchange announcements through rank 0 and enter a
     * barrier when they are connected.
     */
    boolean meets();

    /** Encodes the announcement of a rank in a group of {@code size} ranks. */
    byte[] encode(Announcement announcement, int size);

    /** Decodes an announcement. */
    Announcement decode(byte[] value, int size);
}
