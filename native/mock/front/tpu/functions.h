// The signatures of libtpurt.so.
#pragma once
#include "../../engine/base.h"
#include "types.h"

MOCK_API tpuError_t tpuInit();
MOCK_API tpuError_t tpuGetDeviceCount(int* count);
MOCK_API tpuError_t tpuSetDevice(int device);
MOCK_API tpuError_t tpuStreamCreate(tpuStream_t* stream);
MOCK_API tpuError_t tpuStreamSynchronize(tpuStream_t stream);
MOCK_API tpuError_t tpuEventCreate(tpuEvent_t* event);
MOCK_API tpuError_t tpuEventDestroy(tpuEvent_t event, tpuStream_t stream);
MOCK_API tpuError_t tpuEventRecord(tpuEvent_t event, tpuStream_t stream);
MOCK_API tpuError_t tpuEventQuery(tpuEvent_t event);
MOCK_API tpuError_t tpuEventSynchronize(tpuEvent_t event);
MOCK_API tpuError_t tpuEventElapsedTime(float* milliseconds, tpuEvent_t start, tpuEvent_t end);
MOCK_API tpuError_t tpuMalloc(void** address, size_t bytes);
MOCK_API tpuError_t tpuFree(void* address);
MOCK_API tpuError_t tpuMemcpyH2D(void* device, const void* host, size_t bytes);
MOCK_API tpuError_t tpuMemcpyD2H(void* host, const void* device, size_t bytes);
MOCK_API tpuError_t tpuMemcpyD2D(void* to, const void* from, size_t bytes);
MOCK_API tpuError_t tpuMemcpyH2DAsync(void* device, const void* host, size_t bytes, tpuStream_t stream);
MOCK_API tpuError_t tpuMemcpyD2HAsync(void* host, const void* device, size_t bytes, tpuStream_t stream);
MOCK_API tpuError_t tpuMemcpyD2DAsync(void* to, const void* from, size_t bytes, tpuStream_t stream);
MOCK_API tpuKernelModule_t tpuKernelModuleLoad(const char* data, size_t bytes, tpuStream_t stream);
MOCK_API tpuKernelModule_t tpuKernelModuleLoadFromFile(const char* path, tpuStream_t stream);

/** Not of the vendor: what a test starts instead of a kernel. */
