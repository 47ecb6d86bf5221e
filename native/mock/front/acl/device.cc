// Start and devices.
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <string>
#include <unistd.h>

#include "../../engine/runtime/traits.h"
#include "front.h"
#include "link.h"

namespace mock {

const Traits traits{-1, ACL_ERROR_RT_AICORE_EXCEPTION, false};

}  // namespace mock

mock::RuntimeLink* mockAclRuntime() { return &mock::ownRuntime(); }

namespace mock::acl {

namespace {

std::atomic<bool> running{false};

std::mutex lifeMutex;
/** Calls of aclInit that were not taken back. */
uint64_t references = 0;

/** The manual warns of a process that ends so: of an error at its end, for instance. */
struct Exit {
    ~Exit() {
        if (running) std::fprintf(stderr, "mock (pid %d): the process ends without aclFinalize\n", getpid());
    }
} exitWatch;

/** In another order the real one may crash. */
void finish(const char* call) {
    for (int i = 0; i < deviceCount(); ++i) {
        size_t streams = device(i).openStreams();
        size_t bytes = device(i).memory.used();
        if (streams + bytes == 0) continue;
        fatal("%s: device %d still has %zu streams and %zu bytes, of communicators or tensors; they go first", call, i,
              streams, bytes);
    }
    references = 0;
    running = false;
}

}  // namespace

aclError fail(aclError code, const char* format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    explain(text);
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
        case Status::Injected: return fail(injectedCode(), "%s: injected by MOCK_RUNTIME_FAIL_AT", call);
        default: return fail(ACL_ERROR_RT_INTERNAL_ERROR, "%s: internal error", call);
    }
}

aclError ready(const char* call) {
    if (!running) return fail(ACL_ERROR_UNINITIALIZE, "%s: aclInit was not called", call);
    if (currentDevice() >= 0) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_CONTEXT_NULL, "%s: this thread has set no device", call);
}

aclError findStreamOf(const char* call, aclrtStream handle, Stream** stream) {
    *stream = findStream(handle);
    if (*stream == nullptr)
        return fail(ACL_ERROR_RT_INVALID_HANDLE, "%s: %p is no live stream", call, static_cast<void*>(handle));
    if ((*stream)->device == currentDevice()) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_STREAM_CONTEXT, "%s: the stream belongs to another context", call);
}

static const char* mannerOfFailedEvents() {
    static const char* manner = std::getenv("MOCK_ACL_FAILED_EVENTS");
    return manner;
}

bool failedEventsAreComplete() {
    const char* manner = mannerOfFailedEvents();
    return manner != nullptr && std::string(manner) == "complete";
}

bool hasPassed(const Position& position, int* code) {
    const char* manner = mannerOfFailedEvents();
    Stream* stream = position.stream;
    bool failed = stream != nullptr && stream->failedAt != 0 && position.sequence >= stream->failedAt;
    if (!position.reached() || !failed || (manner == nullptr && !stream->stopsOnError)) return position.reached();
    if (failedEventsAreComplete()) return true;
    if (manner == nullptr || std::string(manner) != "never") *code = stream->failedWith;
    return false;
}

aclError takeError(Stream& stream, const char* call) {
    int code = stream.stopsOnError ? stream.error.load() : stream.error.exchange(0);
    return code == 0 ? ACL_SUCCESS : fail(code, "%s: a task of the stream failed with %d", call, code);
}

}  // namespace mock::acl

using namespace mock;
using namespace mock::acl;

MOCK_API aclError aclInit(const char* configPath) {
    if (configPath != nullptr && *configPath != 0 && access(configPath, R_OK) != 0) {
        return fail(ACL_ERROR_INVALID_PARAM, "aclInit: cannot read %s", configPath);
    }
    std::lock_guard<std::mutex> lock(lifeMutex);
    ++references;
    return running.exchange(true) ? fail(ACL_ERROR_REPEAT_INITIALIZE, "aclInit: called before") : ACL_SUCCESS;
}

MOCK_API aclError aclFinalize() {
    std::lock_guard<std::mutex> lock(lifeMutex);
    if (!running) return fail(ACL_ERROR_REPEAT_FINALIZE, "aclFinalize: ACL is not initialized");
    finish("aclFinalize");
    return ACL_SUCCESS;
}

MOCK_API aclError aclFinalizeReference(uint64_t* left) {
    std::lock_guard<std::mutex> lock(lifeMutex);
    if (!running) return fail(ACL_ERROR_REPEAT_FINALIZE, "aclFinalizeReference: ACL is not initialized");
    if (references > 1) {
        --references;
    } else {
        finish("aclFinalizeReference");
    }
    if (left != nullptr) *left = references;
    return ACL_SUCCESS;
}

MOCK_API const char* aclGetRecentErrMsg() {
    thread_local std::string text;
    text = takeExplanation();
    return text.empty() ? nullptr : text.c_str();
}

MOCK_API aclError aclrtGetDeviceCount(uint32_t* count) {
    if (count == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtGetDeviceCount: null argument");
    *count = static_cast<uint32_t>(deviceCount());
    return *count > 0 ? ACL_SUCCESS : fail(ACL_ERROR_RT_NO_DEVICE, "aclrtGetDeviceCount: no device");
}

MOCK_API aclError aclrtSetDevice(int32_t index) {
    if (!running) return fail(ACL_ERROR_UNINITIALIZE, "aclrtSetDevice: aclInit was not called");
    return translate(setCurrentDevice(index), "aclrtSetDevice");
}

MOCK_API aclError aclrtSynchronizeDevice() {
    const char* call = "aclrtSynchronizeDevice";
    return withDevice(call, [&]() -> aclError {
        for (const Position& position : device(currentDevice()).tails()) {
            position.await();
            aclError error = takeError(*position.stream, call);
            if (error != ACL_SUCCESS) return error;
        }
        return ACL_SUCCESS;
    });
}

MOCK_API aclError aclrtGetPhyDevIdByLogicDevId(int32_t logical, int32_t* physical) {
    if (physical == nullptr || logical < 0 || logical >= deviceCount()) {
        return fail(ACL_ERROR_INVALID_PARAM, "aclrtGetPhyDevIdByLogicDevId: invalid argument");
    }
    *physical = logical;
    return ACL_SUCCESS;
}
