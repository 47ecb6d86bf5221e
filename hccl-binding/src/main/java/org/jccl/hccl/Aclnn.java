package org.jccl.hccl;

/**
 * The element-wise operator of CANN that averages need in addition to HCCL, bound by {@link
 * HcclLibraries}. {@code ...GetWorkspaceSize} prepares an operator and makes an executor;
 * enqueueing consumes the executor. A function that the host lacks returns {@link
 * Acl#NOT_SUPPORTED}.
 */
final class Aclnn {

    /** The format of contiguous elements. */
    static final int FORMAT_ND = 2;

    private Aclnn() {}

    /** Returns a tensor, or 0. */
    static native long aclCreateTensor(
            long dimensions,
            long dimensionCount,
            int type,
            long strides,
            long offset,
            int format,
            long storageDimensions,
            long storageDimensionCount,
            long address);

    static native int aclDestroyTensor(long tensor);

    /** Returns a scalar, or 0. */
    static native long aclCreateScalar(long value, int type);

    static native int aclDestroyScalar(long scalar);

    static native int aclnnInplaceMulsGetWorkspaceSize(
            long tensor, long factor, long workspaceBytes, long executor);

    static native int aclnnInplaceMuls(
            long workspace, long workspaceBytes, long executor, long stream);
}
