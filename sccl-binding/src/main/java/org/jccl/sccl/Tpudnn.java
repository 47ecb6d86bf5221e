package org.jccl.sccl;

/**
 * The functions of libtpudnn for handles. They return a tpudnnStatus_t, unless they return a
 * handle.
 */
final class Tpudnn {

    private Tpudnn() {}

    static native long tpudnnHandleFromStream(int device, long stream, long module);

    static native int tpudnnFlush(long handle);

    static native int tpudnnGetUniqueId(long handle, long id);
}
