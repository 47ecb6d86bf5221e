// Streams.
#include "front.h"

using namespace mock;
using namespace mock::acl;

MOCK_API aclError aclrtCreateStreamWithConfig(aclrtStream* handle, uint32_t priority, uint32_t flags) {
    return withDevice("aclrtCreateStreamWithConfig", [&]() -> aclError {
        if (handle == nullptr || flags > 0x3f || priority > 7) {
            return fail(ACL_ERROR_INVALID_PARAM, "aclrtCreateStreamWithConfig: invalid argument");
        }
        *handle = reinterpret_cast<aclrtStream>(device(currentDevice()).createStream(false, flags));
        return ACL_SUCCESS;
    });
}

MOCK_API aclError aclrtDestroyStream(aclrtStream handle) {
    if (handle == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtDestroyStream: null stream");
    return withStream("aclrtDestroyStream", handle, [&](Stream& stream) -> aclError {
        stream.tail().await();
        device(stream.device).destroyStream(&stream);
        return ACL_SUCCESS;
    });
}

MOCK_API aclError aclrtSynchronizeStream(aclrtStream handle) {
    return withStream("aclrtSynchronizeStream", handle, [&](Stream& stream) {
        stream.tail().await();
        return takeError(stream, "aclrtSynchronizeStream");
    });
}

MOCK_API aclError aclrtSynchronizeStreamWithTimeout(aclrtStream handle, int32_t milliseconds) {
    const char* call = "aclrtSynchronizeStreamWithTimeout";
    return withStream(call, handle, [&](Stream& stream) -> aclError {
        if (milliseconds < 1) return fail(ACL_ERROR_INVALID_PARAM, "%s: no such time is mocked", call);
        if (!stream.tail().await(milliseconds)) return fail(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, "%s: not done", call);
        return takeError(stream, call);
    });
}

MOCK_API aclError aclrtStreamQuery(aclrtStream handle, aclrtStreamStatus* status) {
    return withStream("aclrtStreamQuery", handle, [&](Stream& stream) -> aclError {
        if (status == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtStreamQuery: null argument");
        int code = 0;
        *status = hasPassed(stream.tail(), &code) ? ACL_STREAM_STATUS_COMPLETE : ACL_STREAM_STATUS_NOT_READY;
        // Whatever its events answer.
        if (*status == ACL_STREAM_STATUS_COMPLETE && stream.stopsOnError) code = stream.error;
        return code == 0 ? ACL_SUCCESS : fail(code, "aclrtStreamQuery: a task of the stream failed");
    });
}

MOCK_API aclError aclrtSetStreamFailureMode(aclrtStream handle, uint64_t mode) {
    if (handle == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtSetStreamFailureMode: null stream");
    return withStream("aclrtSetStreamFailureMode", handle, [&](Stream& stream) -> aclError {
        if (mode > ACL_STREAM_FAILURE_STOP)
            return fail(ACL_ERROR_INVALID_PARAM, "aclrtSetStreamFailureMode: no such mode");
        stream.stopsOnError = mode == ACL_STREAM_FAILURE_STOP;
        return ACL_SUCCESS;
    });
}

MOCK_API aclError mockAclFill(float* data, float value, uint64_t count, aclrtStream handle) {
    return withStream("mockAclFill", handle, [&](Stream& stream) -> aclError {
        void* arguments[] = {&data, &value, &count};
        return translate(launchKernel(mockKernelFill, arguments, stream), "mockAclFill");
    });
}

MOCK_API aclError mockAclBusy(uint64_t microseconds, aclrtStream handle) {
    return withStream("mockAclBusy", handle, [&](Stream& stream) -> aclError {
        void* arguments[] = {&microseconds};
        return translate(launchKernel(mockKernelBusy, arguments, stream), "mockAclBusy");
    });
}
