// The signatures of libacl_rt.so and libascendcl.so.
#pragma once
#include "../../engine/base.h"
#include "types.h"

MOCK_API aclError aclInit(const char* configPath);
MOCK_API aclError aclFinalize();
MOCK_API aclError aclFinalizeReference(uint64_t* references);
MOCK_API const char* aclGetRecentErrMsg();

MOCK_API aclError aclrtGetDeviceCount(uint32_t* count);
MOCK_API aclError aclrtSetDevice(int32_t device);
MOCK_API aclError aclrtSynchronizeDevice();
MOCK_API aclError aclrtGetPhyDevIdByLogicDevId(int32_t logical, int32_t* physical);
MOCK_API const char* aclrtGetSocName();
MOCK_API aclError aclsysGetCANNVersion(aclCANNPackageName package, aclCANNPackageVersion* version);

MOCK_API aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t priority, uint32_t flag);
MOCK_API aclError aclrtDestroyStream(aclrtStream stream);
MOCK_API aclError aclrtSynchronizeStream(aclrtStream stream);
MOCK_API aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout);
MOCK_API aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus* status);
MOCK_API aclError aclrtSetStreamFailureMode(aclrtStream stream, uint64_t mode);

MOCK_API aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t flag);
MOCK_API aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t flag);
MOCK_API aclError aclrtDestroyEvent(aclrtEvent event);
MOCK_API aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream);
MOCK_API aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event);
MOCK_API aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus* status);
MOCK_API aclError aclrtQueryEventWaitStatus(aclrtEvent event, aclrtEventWaitStatus* status);
MOCK_API aclError aclrtSynchronizeEvent(aclrtEvent event);
MOCK_API aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t timeout);
MOCK_API aclError aclrtEventElapsedTime(float* milliseconds, aclrtEvent start, aclrtEvent end);

/** Not of the vendor: what a test starts instead of a kernel. */
MOCK_API aclError mockAclFill(float* data, float value, uint64_t count, aclrtStream stream);
MOCK_API aclError mockAclBusy(uint64_t microseconds, aclrtStream stream);

MOCK_API aclError aclrtMalloc(void** address, size_t bytes, aclrtMemMallocPolicy policy);
MOCK_API aclError aclrtFree(void* address);
MOCK_API aclError aclrtMallocHost(void** address, size_t bytes);
MOCK_API aclError aclrtFreeHost(void* address);
MOCK_API aclError aclrtMemcpy(void* to, size_t destMax, const void* from, size_t count, aclrtMemcpyKind kind);
MOCK_API aclError aclrtMemcpyAsync(void* to, size_t destMax, const void* from, size_t count, aclrtMemcpyKind kind,
                                   aclrtStream stream);
