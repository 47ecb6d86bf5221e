package org.jccl.sccl;

/** The functions of libtpurt. They return a tpuError_t, unless they return a module. */
final class Tpurt {

    private Tpurt() {}

    static native int tpuInit();

    static native int tpuGetDeviceCount(long count);

    static native int tpuSetDevice(int device);

    static native int tpuStreamCreate(long stream);

    static native int tpuEventCreate(long event);

    static native int tpuEventDestroy(long event, long stream);

    static native int tpuEventRecord(long event, long stream);

    static native int tpuEventQuery(long event);

    static native int tpuEventSynchronize(long event);

    static native int tpuEventElapsedTime(long millis, long start, long end);

    static native int tpuMalloc(long memory, long bytes);

    static native int tpuFree(long memory);

    static native int tpuMemcpyH2D(long to, long from, long bytes);

    static native int tpuMemcpyH2DAsync(long to, long from, long bytes, long stream);

    static native int tpuMemcpyD2HAsync(long to, long from, long bytes, long stream);

    static native int tpuMemcpyD2DAsync(long to, long from, long bytes, long stream);

    static native long tpuKernelModuleLoad(long data, long bytes, long stream);

    static native long tpuKernelModuleLoadFromFile(String path, long stream);
}
