package org.jccl.sccl;

/** libtpudnn: handles. All return a tpudnnStatus_t, but for the function that returns a handle. */
final class Tpudnn {

    private Tpudnn() {}

    static native long tpudnnHandleFromStream(int device, long stream, long module);

    static native int tpudnnFlush(long handle);

    static native int tpudnnGetUniqueId(long handle, long id);
}
