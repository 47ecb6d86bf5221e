package org.jccl.hccl;

/**
 * The functions of the ACL runtime, bound by {@link HcclLibraries}. Handles, addresses and {@code
 * size_t} are {@code long}; enums and 32-bit numbers are {@code int}. Each function returns an
 * error code, except {@link #aclGetRecentErrMsg} and {@link #aclrtGetSocName}. A function that the
 * loaded library lacks returns {@link #NOT_SUPPORTED}, or the address 0. Functions without a
 * version here exist in 8.1.
 */
final class Acl {

    static final int SUCCESS = 0;
    static final int REPEATED_INITIALIZE = 100002;
    static final int COMPILING_STUB = 100039;
    static final int NOT_SUPPORTED = 200001;
    static final int STREAM_SYNC_TIMEOUT = 507046;
    static final int EVENT_SYNC_TIMEOUT = 507047;

    static final int HOST_TO_DEVICE = 1;
    static final int DEVICE_TO_HOST = 2;
    static final int DEVICE_TO_DEVICE = 3;
    static final int HUGE_PAGES_FIRST = 0;

    /** Of {@link #aclrtStreamQuery}. */
    static final int STATUS_COMPLETE = 0;

    /** Of {@link #aclrtQueryEventStatus}, the only query in which 0 means that it still runs. */
    static final int EVENT_RECORDED_COMPLETE = 1;

    static final int EVENT_SYNC = 0x1;
    static final int EVENT_TIME_LINE = 0x8;
    static final int STREAM_FAST_LAUNCH = 0x1;
    static final int STREAM_FAST_SYNC = 0x2;
    static final long STOP_ON_FAILURE = 1;

    private Acl() {}

    static native int aclInit(long configPath);

    /** Ends ACL for the whole process, also for other code. */
    static native int aclFinalize();

    /** Since 8.5. Takes back one {@link #aclInit}; the last one ends ACL. */
    static native int aclFinalizeReference(long references);

    static native int aclrtGetDeviceCount(long count);

    static native int aclrtSetDevice(int device);

    static native int aclrtSynchronizeDevice();

    static native int aclrtCreateStreamWithConfig(long stream, int priority, int flag);

    static native int aclrtDestroyStream(long stream);

    static native int aclrtSynchronizeStream(long stream);

    /** Answers {@link #STREAM_SYNC_TIMEOUT} when the time is over. */
    static native int aclrtSynchronizeStreamWithTimeout(long stream, int millis);

    static native int aclrtStreamQuery(long stream, long status);

    static native int aclrtSetStreamFailureMode(long stream, long mode);

    static native int aclrtCreateEventExWithFlag(long event, int flag);

    static native int aclrtDestroyEvent(long event);

    static native int aclrtRecordEvent(long event, long stream);

    static native int aclrtStreamWaitEvent(long stream, long event);

    static native int aclrtQueryEventStatus(long event, long status);

    static native int aclrtSynchronizeEvent(long event);

    /** Since 8.5. Answers {@link #EVENT_SYNC_TIMEOUT} when the time is over. */
    static native int aclrtSynchronizeEventWithTimeout(long event, int millis);

    static native int aclrtEventElapsedTime(long millis, long start, long end);

    static native int aclrtMalloc(long address, long bytes, int policy);

    static native int aclrtFree(long address);

    static native int aclrtMallocHost(long address, long bytes);

    static native int aclrtFreeHost(long address);

    static native int aclrtMemcpy(long to, long room, long from, long bytes, int kind);

    static native int aclrtMemcpyAsync(
            long to, long room, long from, long bytes, int kind, long stream);

    /** Answers the address of a text, or 0. */
    static native long aclrtGetSocName();

    /** Answers the address of this thread's text and forgets it, or 0. A simulator may lack it. */
    static native long aclGetRecentErrMsg();

    static native int aclsysGetCANNVersion(int component, long version);

    /** Since 8.5. */
    static native int aclrtGetPhyDevIdByLogicDevId(int logical, long physical);
}
