package org.jccl.sccl;

/**
 * The messages of libsccl. The vendor's guide calls them unsupported, but its headers have them.
 */
final class ScclMessages {

    private ScclMessages() {}

    static native int scclSend(
            long buffer, long count, int type, int peer, long communicator, long handle);

    static native int scclRecv(
            long buffer, long count, int type, int peer, long communicator, long handle);
}
