package org.jccl.sccl;

/** A function that libtpudnn has since 2025. */
final class TpudnnSync {

    private TpudnnSync() {}

    static native int tpudnnSync(long handle);
}
