// Devices and errors.
#include <cstdio>
#include <cstring>
#include <mutex>
#include <set>
#include <utility>

#include "../../engine/runtime/traits.h"
#include "bus.h"
#include "peers.h"
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
        case Status::AlreadyRegistered: return cudaErrorHostMemoryAlreadyRegistered;
        case Status::NotRegistered: return cudaErrorHostMemoryNotRegistered;
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
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
     "CUDA driver version is insufficient for CUDA runtime version"},
    {cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorPeerAccessAlreadyEnabled, "cudaErrorPeerAccessAlreadyEnabled", "peer access is already enabled"},
    {cudaErrorHostMemoryAlreadyRegistered, "cudaErrorHostMemoryAlreadyRegistered",
     "part or all of the requested memory range is already mapped"},
    {cudaErrorHostMemoryNotRegistered, "cudaErrorHostMemoryNotRegistered",
     "pointer does not correspond to a registered memory region"},
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


int sharedMemory() { return (capability() >= 90 ? 227 : 163) << 10; }

std::mutex peersMutex;
/** Pairs of a device and one whose memory it may reach. */
std::set<std::pair<int, int>>& peers() {
    static auto* all = new std::set<std::pair<int, int>>;
    return *all;
}

}  // namespace

std::vector<int> devicesThatReach(int owner) {
    std::vector<int> result;
    std::lock_guard<std::mutex> lock(peersMutex);
    for (const auto& [device, reached] : peers()) {
        if (reached == owner) result.push_back(device);
    }
    return result;
}

}  // namespace mock::cuda

using namespace mock;
using namespace mock::cuda;

MOCK_API const char* cudaGetErrorString(cudaError_t error) { return textOf(error).text; }
MOCK_API const char* cudaGetErrorName(cudaError_t error) { return textOf(error).name; }

MOCK_API cudaError_t cudaGetLastError() {
    return std::exchange(lastError, cudaSuccess);
}

MOCK_API cudaError_t cudaDriverGetVersion(int* version) {
    if (version == nullptr) return remember(cudaErrorInvalidValue);
    *version = driverVersion();
    return cudaSuccess;
}

MOCK_API cudaError_t cudaRuntimeGetVersion(int* version) {
    if (version == nullptr) return remember(cudaErrorInvalidValue);
    *version = runtimeVersion;
    return cudaSuccess;
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
            case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = sharedMemory(); break;
            case cudaDevAttrGPUDirectRDMASupported: *value = 0; break;
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

MOCK_API cudaError_t cudaGetDevice(int* index) {
    return guarded([&] {
        if (index == nullptr) return Status::InvalidValue;
        *index = currentDevice();
        return Status::Ok;
    });
}


MOCK_API cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int index) {
    return guarded([&] {
        if (properties == nullptr) return Status::InvalidValue;
        if (!isDevice(index)) return Status::InvalidDevice;
        *properties = {};
        std::snprintf(properties->name, sizeof properties->name, "Mock GPU");
        std::snprintf(properties->uuid, sizeof properties->uuid, "mock-%d", index);
        properties->totalGlobalMem = static_cast<size_t>(setting("MOCK_MEMORY_MB", 8192)) << 20;
        properties->major = capability() / 10;
        properties->minor = capability() % 10;
        properties->multiProcessorCount = 132;
        properties->pciBusID = busOf(index);
        return Status::Ok;
    });
}

MOCK_API cudaError_t cudaDeviceGetPCIBusId(char* text, int room, int index) {
    return guarded([&] {
        if (text == nullptr || room <= 0) return Status::InvalidValue;
        if (!isDevice(index)) return Status::InvalidDevice;
        return std::snprintf(text, static_cast<size_t>(room), busFormat, busOf(index)) < room ? Status::Ok
                                                                                              : Status::InvalidValue;
    });
}

MOCK_API cudaError_t cudaDeviceCanAccessPeer(int* can, int from, int to) {
    return guarded([&] {
        if (can == nullptr) return Status::InvalidValue;
        if (!isDevice(from) || !isDevice(to)) return Status::InvalidDevice;
        *can = from != to;
        return Status::Ok;
    });
}

MOCK_API cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags) {
    bool known = false;
    cudaError_t result = guarded([&] {
        if (flags != 0) return Status::InvalidValue;
        if (!isDevice(peer) || peer == currentDevice()) return Status::InvalidDevice;
        std::lock_guard<std::mutex> lock(peersMutex);
        known = !peers().insert({currentDevice(), peer}).second;
        return Status::Ok;
    });
    return result == cudaSuccess && known ? remember(cudaErrorPeerAccessAlreadyEnabled) : result;
}

MOCK_API cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t) {
    return guarded([&] { return limit == cudaLimitStackSize ? Status::Ok : Status::InvalidValue; });
}
