// Streams.
#include "front.h"

using namespace mock;
using namespace mock::acl;

namespace {

constexpr uint32_t streamFlags = 0x3f;

aclError makeStream(const char* call, aclrtStream* handle, uint32_t priority, uint32_t flags) {
    return withDevice(call, [&]() -> aclError {
        if (handle == nullptr || (flags & ~streamFlags) != 0 || priority > 7) {
            return fail(ACL_ERROR_INVALID_PARAM, "%s: invalid argument", call);
        }
        Stream* made = device(currentDevice()).createStream(false, flags, static_cast<int>(priority));
        made->owner = currentContext();
        *handle = reinterpret_cast<aclrtStream>(made);
        return ACL_SUCCESS;
    });
}

aclError destroy(const char* call, aclrtStream handle, bool force) {
    if (handle == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "%s: null stream", call);
    return withStream(call, handle, [&](Stream& stream) -> aclError {
        if (force) {
            stream.drop();
        } else {
            stream.tail().await();
        }
        device(stream.device).destroyStream(&stream);
        return ACL_SUCCESS;
    });
}

aclError synchronize(const char* call, aclrtStream handle, int32_t milliseconds) {
    return withStream(call, handle, [&](Stream& stream) -> aclError {
        if (milliseconds < -1) return fail(ACL_ERROR_INVALID_PARAM, "%s: timeout below -1", call);
        if (!stream.tail().await(std::chrono::milliseconds(milliseconds))) {
            return fail(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, "%s: not over after %d ms", call, milliseconds);
        }
        aclError error = takeError(stream, call);
        return error != ACL_SUCCESS ? error : translate(stickyStatus(), call);
    });
}

}  // namespace

MOCK_API aclError aclrtCreateStream(aclrtStream* stream) { return makeStream("aclrtCreateStream", stream, 0, 0); }

MOCK_API aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t priority, uint32_t flag) {
    return makeStream("aclrtCreateStreamWithConfig", stream, priority, flag);
}

MOCK_API aclError aclrtDestroyStream(aclrtStream stream) { return destroy("aclrtDestroyStream", stream, false); }

MOCK_API aclError aclrtDestroyStreamForce(aclrtStream stream) {
    return destroy("aclrtDestroyStreamForce", stream, true);
}

MOCK_API aclError aclrtSynchronizeStream(aclrtStream stream) {
    return synchronize("aclrtSynchronizeStream", stream, -1);
}

MOCK_API aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t milliseconds) {
    return synchronize("aclrtSynchronizeStreamWithTimeout", stream, milliseconds);
}

MOCK_API aclError aclrtStreamQuery(aclrtStream handle, aclrtStreamStatus* status) {
    return withStream("aclrtStreamQuery", handle, [&](Stream& stream) -> aclError {
        if (status == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtStreamQuery: null argument");
        *status = stream.tail().reached() ? ACL_STREAM_STATUS_COMPLETE : ACL_STREAM_STATUS_NOT_READY;
        return ACL_SUCCESS;
    });
}

MOCK_API aclError aclrtStreamAbort(aclrtStream handle) {
    return withStream("aclrtStreamAbort", handle, [&](Stream& stream) -> aclError {
        stream.drop();
        stream.error = ACL_ERROR_RT_STREAM_ABORT;
        return ACL_SUCCESS;
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

MOCK_API aclError aclrtStreamGetId(aclrtStream handle, int32_t* id) {
    return withStream("aclrtStreamGetId", handle, [&](Stream& stream) -> aclError {
        if (id == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtStreamGetId: null argument");
        *id = static_cast<int32_t>(stream.id);
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
