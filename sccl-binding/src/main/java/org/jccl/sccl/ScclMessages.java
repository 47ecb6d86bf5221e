package org.jccl.sccl;

/** Messages of libsccl, which the vendor's guide calls unsupported while its headers have them. */
final class ScclMessages {

    private ScclMessages() {}

    static native int scclSend(
            long buffer, long count, int type, int peer, long communicator, long handle);

    static native int scclRecv(
            long buffer, long count, int type, int peer, long communicator, long handle);
}
