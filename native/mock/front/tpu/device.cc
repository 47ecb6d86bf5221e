// Start, devices, and what all calls check.
#include <cstdarg>
#include <cstdlib>
#include <cstring>

#include "../../engine/runtime/traits.h"
#include "chip.h"
#include "front.h"
#include "link.h"

namespace mock {

const Traits traits{-1, tpuErrorFailure, false};

}  // namespace mock

mock::RuntimeLink* mockTpuRuntime() { return &mock::ownRuntime(); }

namespace mock::tpu {

namespace {

std::atomic<bool> initialized{false};

constexpr int mostDevices = 1024;
/** Devices whose record was freed, because a thread that had set them has ended. */
std::atomic<bool> lost[mostDevices];

/** What the runtime of November 2024 does within half a second of a thread's end happens here at once. */
struct ThreadEnd {
    int device = -1;
    ~ThreadEnd() {
        if (device >= 0 && !isChosen("MOCK_TPU_THREAD_END", "harmless")) lost[device] = true;
    }
};
thread_local ThreadEnd threadEnd;

}  // namespace

bool isChosen(const char* name, const char* value) {
    const char* text = std::getenv(name);
    return text != nullptr && std::strcmp(text, value) == 0;
}

tpuError_t translate(Status status) {
    switch (status) {
        case Status::Ok: return tpuSuccess;
        case Status::InvalidDevice: return tpuErrorInvalidDevice;
        case Status::OutOfMemory: return tpuErrorOutOfMemory;
        case Status::InvalidValue:
        case Status::InvalidHandle: return tpuErrorInvalidValue;
        case Status::Injected: return static_cast<tpuError_t>(injectedCode());
        default: return tpuErrorFailure;
    }
}

tpuError_t fail(tpuError_t code, const char* format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    std::fprintf(stderr, "mock (pid %d): %s\n", static_cast<int>(getpid()), text);
    return code;
}

tpuError_t ready(const char* call) {
    if (!initialized) return fail(tpuErrorFailure, "%s: tpuInit was not called", call);
    if (currentDevice() < 0) return fail(tpuErrorNoDevice, "%s: this thread has set no device", call);
    if (lost[currentDevice()]) {
        fatal("%s: a thread that had set device %d has ended, so that the device's record is freed", call,
              currentDevice());
    }
    return tpuSuccess;
}

void requireFlushed(const char* call, const Stream& stream) {
    uintptr_t thread = stream.collecting;
    if (thread == 0 || thread == static_cast<uintptr_t>(pthread_self())) return;
    fatal("%s: another thread has called SCCL on this stream and not flushed its handle yet", call);
}

}  // namespace mock::tpu

using namespace mock;
using namespace mock::tpu;

MOCK_API tpuError_t tpuInit() {
    if (!areCoresRight()) {
        return fail(tpuErrorFailure, "tpuInit: TPU_RT_CORE_NUM was not 4 when the library was loaded");
    }
    initialized = true;
    return tpuSuccess;
}

MOCK_API tpuError_t tpuGetDeviceCount(int* count) {
    if (count == nullptr) return tpuErrorInvalidParam;
    *count = deviceCount();
    return tpuSuccess;
}

MOCK_API tpuError_t tpuSetDevice(int index) {
    if (!initialized) return fail(tpuErrorFailure, "tpuSetDevice: tpuInit was not called");
    if (setCurrentDevice(index) != Status::Ok) return fail(tpuErrorInvalidDevice, "tpuSetDevice: no device %d", index);
    threadEnd.device = index;
    return tpuSuccess;
}
