// The signatures of libtpurt.so.
#pragma once
#include "types.h"

#define MOCK_API extern "C" __attribute__((visibility("default")))

MOCK_API tpuError_t tpuInit();
MOCK_API tpuError_t tpuGetDeviceCount(int* count);
MOCK_API tpuError_t tpuGetDevice(int* device);
MOCK_API tpuError_t tpuSetDevice(int device);
MOCK_API tpuError_t tpuStreamCreate(tpuStream_t* stream);
MOCK_API tpuError_t tpuStreamDestroy(tpuStream_t stream);
MOCK_API tpuError_t tpuStreamSynchronize(tpuStream_t stream);
MOCK_API tpuError_t tpuStreamWaitEvent(tpuStream_t stream, tpuEvent_t event);
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
MOCK_API tpuError_t tpuKernelUnloadModule(tpuKernelModule_t module, tpuStream_t stream);
MOCK_API tpuError_t tpuKernelLaunch(tpuKernelModule_t module, const char* name, const void* args, uint32_t argBytes,
                                    uint64_t groupNum, uint64_t groupSize, tpuStream_t stream);
MOCK_API tpuError_t tpuKernelLaunchAsync(tpuKernelModule_t module, const char* name, const void* args,
                                         uint32_t argBytes, uint64_t groupNum, uint64_t groupSize, tpuStream_t stream);
MOCK_API tpuError_t tpuSetupTopology();
MOCK_API tpuError_t tpuGetTopology(tpuTopology_t** topology);
MOCK_API tpuError_t tpuGetAllMemory(size_t* bytes);
MOCK_API tpuError_t tpuGetFreeMemory(size_t* bytes);
MOCK_API tpuError_t tpuGetPeakMemory(size_t* bytes);
MOCK_API tpuError_t tpuResetPeakMemory();
MOCK_API tpuError_t tpuStreamBeginCapture(tpuStream_t stream);
MOCK_API tpuError_t tpuStreamEndCapture(tpuStream_t stream, tpuGraph_t* graph);
MOCK_API tpuError_t tpuGraphInstantiate(tpuGraphExec_t* executable, tpuGraph_t graph, void* extra);
MOCK_API tpuError_t tpuGraphLaunch(tpuGraphExec_t executable, tpuStream_t stream);
MOCK_API tpuError_t tpuGraphDestroy(tpuGraph_t graph);
MOCK_API tpuError_t tpuGraphExecDestroy(tpuGraphExec_t executable);

/** Not of the vendor: what a test starts instead of a kernel. */
MOCK_API tpuError_t mockTpuFill(float* data, float value, uint64_t count, tpuStream_t stream);
MOCK_API tpuError_t mockTpuBusy(uint64_t microseconds, tpuStream_t stream);
