// Devices and errors.
#include <utility>

#include "../../engine/runtime/traits.h"
#include "guard.h"
#include "link.h"

namespace mock {

const Traits traits{0, cudaErrorUnknown, true};

}  // namespace mock

mock::RuntimeLink* mockCudaRuntime() { return &mock::ownRuntime(); }

namespace mock::cuda {

thread_local cudaError_t lastError = cudaSuccess;

cudaError_t remember(cudaError_t error) { return error == cudaSuccess ? error : lastError = error; }

cudaError_t translate(Status status) {
    switch (status) {
        case Status::Ok: return cudaSuccess;
        case Status::InvalidValue: return cudaErrorInvalidValue;
        case Status::OutOfMemory: return cudaErrorMemoryAllocation;
        case Status::InvalidDevice: return cudaErrorInvalidDevice;
        case Status::InvalidHandle: return cudaErrorInvalidResourceHandle;
        case Status::NotReady: return cudaErrorNotReady;
        case Status::NotPermitted: return cudaErrorNotPermitted;
        case Status::InvalidFunction: return cudaErrorInvalidDeviceFunction;
        case Status::CaptureUnsupported: return cudaErrorStreamCaptureUnsupported;
        case Status::CaptureInvalidated: return cudaErrorStreamCaptureInvalidated;
        case Status::CaptureMerge: return cudaErrorStreamCaptureMerge;
        case Status::CaptureUnmatched: return cudaErrorStreamCaptureUnmatched;
        case Status::CaptureUnjoined: return cudaErrorStreamCaptureUnjoined;
        case Status::CaptureIsolation: return cudaErrorStreamCaptureIsolation;
        case Status::CaptureImplicit: return cudaErrorStreamCaptureImplicit;
        case Status::CapturedEvent: return cudaErrorCapturedEvent;
        case Status::CaptureWrongThread: return cudaErrorStreamCaptureWrongThread;
        case Status::Injected: return static_cast<cudaError_t>(injectedCode());
        case Status::Broken: return static_cast<cudaError_t>(device(currentDevice()).broken.load());
    }
    return cudaErrorUnknown;
}

namespace {

struct Text {
    cudaError_t code;
    const char* name;
    const char* text;
};

constexpr Text texts[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorNotPermitted, "cudaErrorNotPermitted", "operation not permitted"},
    {cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported",
     "operation not permitted when stream is capturing"},
    {cudaErrorStreamCaptureInvalidated, "cudaErrorStreamCaptureInvalidated",
     "operation failed due to a previous error during capture"},
    {cudaErrorStreamCaptureUnjoined, "cudaErrorStreamCaptureUnjoined", "capturing stream has unjoined work"},
    {cudaErrorStreamCaptureIsolation, "cudaErrorStreamCaptureIsolation",
     "dependency created on uncaptured work in another stream"},
    {cudaErrorStreamCaptureImplicit, "cudaErrorStreamCaptureImplicit",
     "operation would make the legacy stream depend on a capturing blocking stream"},
    {cudaErrorCapturedEvent, "cudaErrorCapturedEvent",
     "operation not permitted on an event last recorded in a capturing stream"},
    {cudaErrorStreamCaptureWrongThread, "cudaErrorStreamCaptureWrongThread",
     "attempt to terminate a thread-local capture sequence from another thread"},
    {cudaErrorUnknown, "cudaErrorUnknown", "unknown error"},
};

const Text& textOf(cudaError_t error) {
    static constexpr Text unknown{cudaErrorUnknown, "unrecognized error code", "unrecognized error code"};
    for (const Text& text : texts) {
        if (text.code == error) return text;
    }
    return unknown;
}

bool isDevice(int index) { return index >= 0 && index < deviceCount(); }

}  // namespace

}  // namespace mock::cuda

using namespace mock;
using namespace mock::cuda;

MOCK_API const char* cudaGetErrorString(cudaError_t error) { return textOf(error).text; }
MOCK_API const char* cudaGetErrorName(cudaError_t error) { return textOf(error).name; }

MOCK_API cudaError_t cudaGetLastError() {
    return std::exchange(lastError, cudaSuccess);
}

MOCK_API cudaError_t cudaGetDeviceCount(int* count) {
    if (count == nullptr) return remember(cudaErrorInvalidValue);
    *count = deviceCount();
    return guarded([] { return Status::Ok; });
}

MOCK_API cudaError_t cudaSetDevice(int index) {
    return guarded([&] { return setCurrentDevice(index); });
}

MOCK_API cudaError_t cudaDeviceSynchronize() { return guarded(synchronizeDevice); }

MOCK_API cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int index) {
    return guarded([&] {
        if (value == nullptr) return Status::InvalidValue;
        if (!isDevice(index)) return Status::InvalidDevice;
        switch (attribute) {
            case cudaDevAttrComputeCapabilityMajor: *value = capability() / 10; break;
            case cudaDevAttrComputeCapabilityMinor: *value = capability() % 10; break;
            default: return Status::InvalidValue;
        }
        return Status::Ok;
    });
}

MOCK_API cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
    return guarded([&] {
        if (least != nullptr) *least = 0;
        if (greatest != nullptr) *greatest = -5;
        return Status::Ok;
    });
}
