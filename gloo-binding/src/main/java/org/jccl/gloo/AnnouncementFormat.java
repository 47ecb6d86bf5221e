package org.jccl.gloo;

/** How an announcement looks in the store. */
sealed interface AnnouncementFormat permits OwnAnnouncementFormat, TorchAnnouncementFormat {

    /** Under which key a rank announces itself. */
    String key(int rank);

    /** Whether the ranks meet at a barrier once they are connected. */
    boolean meets();

    byte[] encode(Announcement announcement);

    /** The announcement of a rank of a group of {@code size}. */
    Announcement decode(byte[] value, int size);
}
