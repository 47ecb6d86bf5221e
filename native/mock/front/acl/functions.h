// The signatures of libacl_rt.so and libascendcl.so.
#pragma once
#include "types.h"

#define MOCK_API extern "C" __attribute__((visibility("default")))

MOCK_API aclError aclInit(const char* configPath);
MOCK_API aclError aclFinalize();
MOCK_API aclError aclFinalizeReference(uint64_t* refCount);
MOCK_API const char* aclGetRecentErrMsg();

MOCK_API aclError aclrtGetDeviceCount(uint32_t* count);
MOCK_API aclError aclrtSetDevice(int32_t device);
MOCK_API aclError aclrtGetDevice(int32_t* device);
MOCK_API aclError aclrtResetDevice(int32_t device);
MOCK_API aclError aclrtResetDeviceForce(int32_t device);
MOCK_API aclError aclrtSynchronizeDevice();
MOCK_API aclError aclrtSynchronizeDeviceWithTimeout(int32_t milliseconds);
MOCK_API aclError aclrtDeviceTaskAbort(int32_t device, uint32_t timeout);
MOCK_API aclError aclrtDeviceCanAccessPeer(int32_t* can, int32_t device, int32_t peer);
MOCK_API aclError aclrtDeviceEnablePeerAccess(int32_t peer, uint32_t flags);
MOCK_API aclError aclrtGetDeviceInfo(uint32_t device, aclrtDevAttr attribute, int64_t* value);
MOCK_API aclError aclrtGetPhyDevIdByLogicDevId(int32_t logical, int32_t* physical);
MOCK_API aclError aclrtGetLogicDevIdByPhyDevId(int32_t physical, int32_t* logical);
MOCK_API aclError aclrtCreateContext(aclrtContext* context, int32_t device);
MOCK_API aclError aclrtDestroyContext(aclrtContext context);
MOCK_API aclError aclrtSetCurrentContext(aclrtContext context);
MOCK_API aclError aclrtGetCurrentContext(aclrtContext* context);
MOCK_API const char* aclrtGetSocName();
MOCK_API aclError aclrtGetRunMode(aclrtRunMode* mode);
MOCK_API aclError aclrtGetVersion(int32_t* major, int32_t* minor, int32_t* patch);
MOCK_API aclError aclsysGetCANNVersion(aclCANNPackageName package, aclCANNPackageVersion* version);
MOCK_API aclError aclsysGetVersionStr(char* package, char* version);
MOCK_API aclError aclsysGetVersionNum(char* package, int32_t* number);
MOCK_API aclError aclrtPeekAtLastError(aclrtLastErrLevel level);
MOCK_API aclError aclrtGetLastError(aclrtLastErrLevel level);
MOCK_API aclError aclrtSetOpWaitTimeout(uint32_t seconds);
MOCK_API aclError aclrtSetOpExecuteTimeOut(uint32_t seconds);

MOCK_API aclError aclrtCreateStream(aclrtStream* stream);
MOCK_API aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t priority, uint32_t flag);
MOCK_API aclError aclrtDestroyStream(aclrtStream stream);
MOCK_API aclError aclrtDestroyStreamForce(aclrtStream stream);
MOCK_API aclError aclrtSynchronizeStream(aclrtStream stream);
MOCK_API aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t milliseconds);
MOCK_API aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus* status);
MOCK_API aclError aclrtStreamAbort(aclrtStream stream);
MOCK_API aclError aclrtSetStreamFailureMode(aclrtStream stream, uint64_t mode);
MOCK_API aclError aclrtStreamGetId(aclrtStream stream, int32_t* id);

MOCK_API aclError aclrtCreateEvent(aclrtEvent* event);
MOCK_API aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t flag);
MOCK_API aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t flag);
MOCK_API aclError aclrtDestroyEvent(aclrtEvent event);
MOCK_API aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream);
MOCK_API aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream);
MOCK_API aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event);
MOCK_API aclError aclrtStreamWaitEventWithTimeout(aclrtStream stream, aclrtEvent event, int32_t seconds);
MOCK_API aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus* status);
MOCK_API aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus* status);
MOCK_API aclError aclrtQueryEventWaitStatus(aclrtEvent event, aclrtEventWaitStatus* status);
MOCK_API aclError aclrtSynchronizeEvent(aclrtEvent event);
MOCK_API aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t milliseconds);
MOCK_API aclError aclrtEventElapsedTime(float* milliseconds, aclrtEvent start, aclrtEvent end);
MOCK_API aclError aclrtEventGetTimestamp(aclrtEvent event, uint64_t* microseconds);

/** Not of the vendor: what a test starts instead of a kernel. */
MOCK_API aclError mockAclFill(float* data, float value, uint64_t count, aclrtStream stream);
MOCK_API aclError mockAclBusy(uint64_t microseconds, aclrtStream stream);

MOCK_API aclError aclrtMalloc(void** address, size_t bytes, aclrtMemMallocPolicy policy);
MOCK_API aclError aclrtMallocAlign32(void** address, size_t bytes, aclrtMemMallocPolicy policy);
MOCK_API aclError aclrtFree(void* address);
MOCK_API aclError aclrtMallocHost(void** address, size_t bytes);
MOCK_API aclError aclrtFreeHost(void* address);
MOCK_API aclError aclrtMemcpy(void* to, size_t destMax, const void* from, size_t count, aclrtMemcpyKind kind);
MOCK_API aclError aclrtMemcpyAsync(void* to, size_t destMax, const void* from, size_t count, aclrtMemcpyKind kind,
                                   aclrtStream stream);
MOCK_API aclError aclrtMemset(void* to, size_t maxCount, int32_t value, size_t count);
MOCK_API aclError aclrtMemsetAsync(void* to, size_t maxCount, int32_t value, size_t count, aclrtStream stream);
MOCK_API aclError aclrtGetMemInfo(aclrtMemAttr attribute, size_t* available, size_t* total);
