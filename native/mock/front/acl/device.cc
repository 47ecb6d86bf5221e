// Start and end, devices and contexts.
#include <algorithm>
#include <cstdarg>
#include <cstring>
#include <mutex>
#include <string>

#include "../../engine/runtime/handles.h"
#include "../../engine/runtime/traits.h"
#include "front.h"
#include "link.h"

namespace mock {

const Traits& traits() {
    static const Traits& one = *[] {
        std::vector<int> devices = allDevices();
        if (const char* text = std::getenv("ASCEND_RT_VISIBLE_DEVICES")) {
            std::vector<int> visible;
            for (char* rest = const_cast<char*>(text); *rest != 0; rest += *rest == ',') {
                char* start = rest;
                int id = static_cast<int>(std::strtol(rest, &rest, 10));
                // As for the real runtime, the first wrong entry ends the list.
                if (rest == start || std::count(devices.begin(), devices.end(), id) == 0) break;
                visible.push_back(id);
            }
            devices = visible;
        }
        return new Traits{devices, -1, ACL_ERROR_RT_AICORE_EXCEPTION};
    }();
    return one;
}

}  // namespace mock

mock::RuntimeLink* mockAclRuntime() { return &mock::ownRuntime(); }

namespace mock::acl {

namespace {

enum class Phase { New, Running, Over };

struct State {
    std::mutex mutex;
    std::atomic<Phase> phase{Phase::New};
    std::vector<int> references = std::vector<int>(traits().devices.size());
    std::vector<Context*> defaults = std::vector<Context*>(traits().devices.size());
};

State& state() {
    static auto* one = new State();
    return *one;
}

Handles<Context>& contexts() {
    static auto* all = new Handles<Context>(size_t(1) << 16, false);
    return *all;
}

thread_local Context* current = nullptr;
thread_local aclError lastError = ACL_SUCCESS;

bool isDevice(int64_t index) { return index >= 0 && index < deviceCount(); }

void enter(Context* context) {
    current = context;
    setCurrentDevice(context->device);
}

void checkUnused(int index, const char* call) {
    if (device(index).users.load() > 0) {
        fatal("%s: communicators live on device %d; destroy them first", call, index);
    }
}

aclError reset(const char* call, int32_t index, bool force) {
    if (state().phase != Phase::Running) return fail(ACL_ERROR_UNINITIALIZE, "%s: aclInit was not called", call);
    if (!isDevice(index)) return fail(ACL_ERROR_RT_INVALID_DEVICEID, "%s: no device %d", call, index);
    std::lock_guard<std::mutex> lock(state().mutex);
    auto place = static_cast<size_t>(index);
    if (state().references[place] == 0) {
        return fail(ACL_ERROR_RT_CONTEXT_NULL, "%s: nobody has set device %d", call, index);
    }
    state().references[place] = force ? 0 : state().references[place] - 1;
    if (state().references[place] > 0) return ACL_SUCCESS;
    checkUnused(index, call);
    contexts().destroy(state().defaults[place]);
    state().defaults[place] = nullptr;
    return ACL_SUCCESS;
}

}  // namespace

aclError fail(aclError code, const char* format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    explain(text);
    lastError = code;
    return code;
}

aclError translate(Status status, const char* call) {
    switch (status) {
        case Status::Ok: return ACL_SUCCESS;
        case Status::InvalidValue: return fail(ACL_ERROR_RT_PARAM_INVALID, "%s: invalid argument", call);
        case Status::OutOfMemory: return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "%s: out of memory", call);
        case Status::InvalidDevice: return fail(ACL_ERROR_RT_INVALID_DEVICEID, "%s: invalid device", call);
        case Status::InvalidHandle: return fail(ACL_ERROR_RT_INVALID_HANDLE, "%s: invalid handle", call);
        case Status::NotReady: return fail(ACL_ERROR_RT_EVENT_NOT_COMPLETE, "%s: event is not complete", call);
        case Status::IllegalAccess: return fail(ACL_ERROR_RT_DEVICE_MEM_ERROR, "%s: illegal memory access", call);
        case Status::Injected: return fail(injectedCode(), "%s: injected by MOCK_RUNTIME_FAIL_AT", call);
        default: return fail(ACL_ERROR_RT_INTERNAL_ERROR, "%s: internal error", call);
    }
}

Context* currentContext() { return current != nullptr && current->live ? current : nullptr; }

aclError ready(const char* call) {
    if (state().phase != Phase::Running) return fail(ACL_ERROR_UNINITIALIZE, "%s: aclInit was not called", call);
    if (currentContext() == nullptr) {
        forgetCurrentDevice();
        return fail(ACL_ERROR_RT_CONTEXT_NULL, "%s: this thread has set no device", call);
    }
    return stickyStatus() == Status::Ok ? ACL_SUCCESS : translate(stickyStatus(), call);
}

aclError findStreamOf(const char* call, aclrtStream handle, Stream** stream) {
    auto bits = reinterpret_cast<uintptr_t>(handle);
    bool reserved = bits == legacyHandle || bits == perThreadHandle;
    *stream = reserved ? nullptr : findStream(handle);
    if (*stream == nullptr)
        return fail(ACL_ERROR_RT_INVALID_HANDLE, "%s: %p is no live stream", call, static_cast<void*>(handle));
    if (handle != nullptr && (*stream)->owner != currentContext()) {
        return fail(ACL_ERROR_RT_STREAM_CONTEXT, "%s: the stream belongs to another context", call);
    }
    return ACL_SUCCESS;
}

aclError takeError(Stream& stream, const char* call) {
    int code = stream.stopsOnError ? stream.error.load() : stream.error.exchange(0);
    return code == 0 ? ACL_SUCCESS : fail(code, "%s: a task of the stream failed with %d", call, code);
}

}  // namespace mock::acl

using namespace mock;
using namespace mock::acl;

MOCK_API aclError aclInit(const char* configPath) {
    std::lock_guard<std::mutex> lock(state().mutex);
    if (state().phase == Phase::Running) return fail(ACL_ERROR_REPEAT_INITIALIZE, "aclInit: called before");
    if (state().phase == Phase::Over) fatal("aclInit after aclFinalize");
    if (configPath != nullptr && *configPath != 0 && access(configPath, R_OK) != 0) {
        return fail(ACL_ERROR_INVALID_PARAM, "aclInit: cannot read %s", configPath);
    }
    state().phase = Phase::Running;
    return ACL_SUCCESS;
}

MOCK_API aclError aclFinalize() {
    std::lock_guard<std::mutex> lock(state().mutex);
    if (state().phase == Phase::Over) return fail(ACL_ERROR_REPEAT_FINALIZE, "aclFinalize: called before");
    if (state().phase == Phase::New) return fail(ACL_ERROR_UNINITIALIZE, "aclFinalize: aclInit was not called");
    for (int i = 0; i < deviceCount(); ++i) checkUnused(i, "aclFinalize");
    state().phase = Phase::Over;
    return ACL_SUCCESS;
}

MOCK_API aclError aclFinalizeReference(uint64_t* refCount) {
    if (refCount == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclFinalizeReference: null argument");
    *refCount = 0;
    return aclFinalize();
}

MOCK_API const char* aclGetRecentErrMsg() {
    thread_local std::string text;
    text = takeExplanation();
    return text.empty() ? nullptr : text.c_str();
}

MOCK_API aclError aclrtPeekAtLastError(aclrtLastErrLevel level) {
    return level == ACL_RT_THREAD_LEVEL ? lastError : static_cast<aclError>(ACL_ERROR_INVALID_PARAM);
}

MOCK_API aclError aclrtGetLastError(aclrtLastErrLevel level) {
    if (level != ACL_RT_THREAD_LEVEL) return ACL_ERROR_INVALID_PARAM;
    return std::exchange(lastError, ACL_SUCCESS);
}

MOCK_API aclError aclrtGetDeviceCount(uint32_t* count) {
    if (count == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtGetDeviceCount: null argument");
    *count = static_cast<uint32_t>(traits().devices.size());
    return *count > 0 ? ACL_SUCCESS : fail(ACL_ERROR_RT_NO_DEVICE, "aclrtGetDeviceCount: no device");
}

MOCK_API aclError aclrtSetDevice(int32_t index) {
    if (state().phase != Phase::Running) return fail(ACL_ERROR_UNINITIALIZE, "aclrtSetDevice: aclInit was not called");
    if (!isDevice(index)) return fail(ACL_ERROR_RT_INVALID_DEVICEID, "aclrtSetDevice: no device %d", index);
    std::lock_guard<std::mutex> lock(state().mutex);
    auto place = static_cast<size_t>(index);
    if (++state().references[place] == 1) {
        Context* made = contexts().create();
        made->device = index;
        made->isDefault = true;
        state().defaults[place] = made;
    }
    enter(state().defaults[place]);
    return ACL_SUCCESS;
}

MOCK_API aclError aclrtGetDevice(int32_t* index) {
    return withDevice("aclrtGetDevice", [&] {
        if (index == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtGetDevice: null argument");
        *index = currentContext()->device;
        return aclError{ACL_SUCCESS};
    });
}

MOCK_API aclError aclrtResetDevice(int32_t index) { return reset("aclrtResetDevice", index, false); }
MOCK_API aclError aclrtResetDeviceForce(int32_t index) { return reset("aclrtResetDeviceForce", index, true); }

MOCK_API aclError aclrtSynchronizeDeviceWithTimeout(int32_t milliseconds) {
    const char* call = "aclrtSynchronizeDevice";
    return withDevice(call, [&]() -> aclError {
        for (const Position& position : device(currentDevice()).tails()) {
            if (!position.await(std::chrono::milliseconds(milliseconds))) {
                return fail(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, "%s: timeout", call);
            }
            aclError error = takeError(*position.stream, call);
            if (error != ACL_SUCCESS) return error;
        }
        return translate(stickyStatus(), call);
    });
}

MOCK_API aclError aclrtSynchronizeDevice() { return aclrtSynchronizeDeviceWithTimeout(-1); }

MOCK_API aclError aclrtDeviceTaskAbort(int32_t index, uint32_t) {
    return withDevice("aclrtDeviceTaskAbort", [&]() -> aclError {
        if (!isDevice(index)) return fail(ACL_ERROR_RT_INVALID_DEVICEID, "aclrtDeviceTaskAbort: no device %d", index);
        for (const Position& position : device(index).tails()) {
            position.stream->drop();
            position.stream->error = ACL_ERROR_RT_DEVICE_TASK_ABORT;
        }
        return ACL_SUCCESS;
    });
}

MOCK_API aclError aclrtDeviceCanAccessPeer(int32_t* can, int32_t index, int32_t peer) {
    return withDevice("aclrtDeviceCanAccessPeer", [&]() -> aclError {
        if (can == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtDeviceCanAccessPeer: null argument");
        if (!isDevice(index) || !isDevice(peer))
            return fail(ACL_ERROR_RT_INVALID_DEVICEID, "aclrtDeviceCanAccessPeer: no such device");
        *can = index != peer;
        return ACL_SUCCESS;
    });
}

MOCK_API aclError aclrtDeviceEnablePeerAccess(int32_t peer, uint32_t flags) {
    return withDevice("aclrtDeviceEnablePeerAccess", [&]() -> aclError {
        if (flags != 0) return fail(ACL_ERROR_INVALID_PARAM, "aclrtDeviceEnablePeerAccess: flags must be 0");
        if (isDevice(peer) && peer != currentDevice()) return ACL_SUCCESS;
        return fail(ACL_ERROR_RT_INVALID_DEVICEID, "aclrtDeviceEnablePeerAccess: no device %d", peer);
    });
}

MOCK_API aclError aclrtGetDeviceInfo(uint32_t index, aclrtDevAttr attribute, int64_t* value) {
    return withDevice("aclrtGetDeviceInfo", [&]() -> aclError {
        if (value == nullptr || attribute < ACL_DEV_ATTR_PHY_CHIP_ID || attribute > ACL_DEV_ATTR_SUPER_POD_ID) {
            return fail(ACL_ERROR_INVALID_PARAM, "aclrtGetDeviceInfo: invalid argument");
        }
        if (!isDevice(index)) return fail(ACL_ERROR_RT_INVALID_DEVICEID, "aclrtGetDeviceInfo: no device %u", index);
        bool perDevice = attribute <= ACL_DEV_ATTR_SUPER_POD_DEVICE_ID;
        *value = perDevice ? traits().devices[index] : 0;
        return ACL_SUCCESS;
    });
}

MOCK_API aclError aclrtGetPhyDevIdByLogicDevId(int32_t logical, int32_t* physical) {
    if (physical == nullptr || !isDevice(logical)) {
        return fail(ACL_ERROR_INVALID_PARAM, "aclrtGetPhyDevIdByLogicDevId: invalid argument");
    }
    *physical = traits().devices[static_cast<size_t>(logical)];
    return ACL_SUCCESS;
}

MOCK_API aclError aclrtGetLogicDevIdByPhyDevId(int32_t physical, int32_t* logical) {
    const std::vector<int>& devices = traits().devices;
    auto found = std::find(devices.begin(), devices.end(), physical);
    if (logical == nullptr || found == devices.end()) {
        return fail(ACL_ERROR_INVALID_PARAM, "aclrtGetLogicDevIdByPhyDevId: invalid argument");
    }
    *logical = static_cast<int32_t>(found - devices.begin());
    return ACL_SUCCESS;
}

MOCK_API aclError aclrtCreateContext(aclrtContext* context, int32_t index) {
    if (state().phase != Phase::Running)
        return fail(ACL_ERROR_UNINITIALIZE, "aclrtCreateContext: aclInit was not called");
    if (context == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtCreateContext: null argument");
    if (!isDevice(index)) return fail(ACL_ERROR_RT_INVALID_DEVICEID, "aclrtCreateContext: no device %d", index);
    Context* made = contexts().create();
    made->device = index;
    enter(made);
    *context = reinterpret_cast<aclrtContext>(made);
    return ACL_SUCCESS;
}

MOCK_API aclError aclrtDestroyContext(aclrtContext handle) {
    Context* context = contexts().find(handle);
    if (context == nullptr || context->isDefault) {
        return fail(ACL_ERROR_INVALID_PARAM, "aclrtDestroyContext: no context that was created");
    }
    contexts().destroy(context);
    return ACL_SUCCESS;
}

MOCK_API aclError aclrtSetCurrentContext(aclrtContext handle) {
    Context* context = contexts().find(handle);
    if (context == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtSetCurrentContext: no live context");
    enter(context);
    return ACL_SUCCESS;
}

MOCK_API aclError aclrtGetCurrentContext(aclrtContext* handle) {
    return withDevice("aclrtGetCurrentContext", [&]() -> aclError {
        if (handle == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtGetCurrentContext: null argument");
        *handle = reinterpret_cast<aclrtContext>(currentContext());
        return ACL_SUCCESS;
    });
}
