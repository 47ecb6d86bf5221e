// The driver's functions, which libraries ask for by name. The values of CUresult are those of cudaError.
#include <cstring>

#include "guard.h"
#include "launch.h"

extern "C" const char* cudaGetErrorString(cudaError_t error);
extern "C" const char* cudaGetErrorName(cudaError_t error);

using namespace mock;
using namespace mock::cuda;

namespace {

using CUresult = int;
using CUcontext = void*;

constexpr CUresult invalidValue = 1;
constexpr CUresult notFound = 500;

/** A context is its device's number plus 1. */
CUcontext contextOf(int index) { return reinterpret_cast<CUcontext>(static_cast<intptr_t>(index) + 1); }

CUresult getErrorString(CUresult error, const char** text) {
    *text = cudaGetErrorString(static_cast<cudaError_t>(error));
    return cudaSuccess;
}

CUresult getErrorName(CUresult error, const char** text) {
    *text = cudaGetErrorName(static_cast<cudaError_t>(error));
    return cudaSuccess;
}

CUresult deviceGet(int* result, int index) {
    if (index < 0 || index >= deviceCount()) return cudaErrorInvalidDevice;
    *result = index;
    return cudaSuccess;
}

/** Nothing that is asked for this way is there: virtual memory management, multicast, fabrics, buffers for network cards. */
CUresult deviceGetAttribute(int* value, int, int index) {
    if (index < 0 || index >= deviceCount()) return cudaErrorInvalidDevice;
    *value = 0;
    return cudaSuccess;
}

CUresult memGetAddressRange(uintptr_t* base, size_t* bytes, uintptr_t address) {
    Device* owner = deviceOf(reinterpret_cast<void*>(address));
    if (owner == nullptr) return notFound;
    DeviceMemory::Block block = owner->memory.blockAt(reinterpret_cast<void*>(address));
    if (block.address == nullptr) return notFound;
    if (base != nullptr) *base = reinterpret_cast<uintptr_t>(block.address);
    if (bytes != nullptr) *bytes = block.bytes;
    return cudaSuccess;
}

CUresult pointerGetAttribute(void* value, int attribute, uintptr_t address) {
    constexpr int ordinal = 9;
    Device* owner = deviceOf(reinterpret_cast<void*>(address));
    if (attribute != ordinal || owner == nullptr) return invalidValue;
    *static_cast<int*>(value) = owner->index;
    return cudaSuccess;
}

CUresult ctxGetCurrent(CUcontext* context) {
    *context = contextOf(currentDevice());
    return cudaSuccess;
}

CUresult ctxSetCurrent(CUcontext context) {
    if (context == nullptr) return invalidValue;
    return setCurrentDevice(static_cast<int>(reinterpret_cast<intptr_t>(context)) - 1) == Status::Ok ? cudaSuccess
                                                                                                     : invalidValue;
}

CUresult ctxGetDevice(int* index) {
    *index = currentDevice();
    return cudaSuccess;
}

/** Of the arguments as `extra` has them: pairs of a mark and a value. */
CUresult launchExtra(void* kernel, cudaStream_t stream, void** parameters, void** extra) {
    const auto end = reinterpret_cast<void*>(0), buffer = reinterpret_cast<void*>(1), size = reinterpret_cast<void*>(2);
    if (parameters != nullptr || extra == nullptr) return invalidValue;
    const void* argument = nullptr;
    size_t bytes = 0;
    for (int i = 0; extra[i] != end; i += 2) {
        if (extra[i] == buffer) {
            argument = extra[i + 1];
        } else if (extra[i] == size) {
            bytes = *static_cast<size_t*>(extra[i + 1]);
        } else {
            return invalidValue;
        }
    }
    return launchWithBuffer(kernel, argument, bytes, stream);
}

CUresult launchOld(void* kernel, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                   cudaStream_t stream, void** parameters, void** extra) {
    return launchExtra(kernel, stream, parameters, extra);
}

struct LaunchAttribute {
    int id;
    char value[64] __attribute__((aligned(8)));
};
static_assert(sizeof(LaunchAttribute) == 72);

struct LaunchConfig {
    unsigned grid[3], block[3], sharedBytes;
    cudaStream_t stream;
    const LaunchAttribute* attributes;
    unsigned count;
};
static_assert(sizeof(LaunchConfig) == 56);

CUresult launchNew(const LaunchConfig* config, void* kernel, void** parameters, void** extra) {
    constexpr int cluster = 4, policy = 5, memoryDomain = 10, linkSchedule = 16;
    for (unsigned i = 0; i < config->count; ++i) {
        int id = config->attributes[i].id;
        // Those that only make a kernel faster; an event, for example, would have to be recorded.
        if (id != cluster && id != policy && id != memoryDomain && id != linkSchedule) return invalidValue;
    }
    return launchExtra(kernel, config->stream, parameters, extra);
}

struct Entry {
    const char* name;
    void* function;
};

template <class F>
Entry entry(const char* name, F* function) {
    return {name, reinterpret_cast<void*>(function)};
}

}  // namespace

MOCK_API cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned int,
                                                      unsigned long long, cudaDriverEntryPointQueryResult* result) {
    static const Entry entries[] = {
        entry("cuGetErrorString", getErrorString),
        entry("cuGetErrorName", getErrorName),
        entry("cuDeviceGet", deviceGet),
        entry("cuDeviceGetAttribute", deviceGetAttribute),
        entry("cuMemGetAddressRange", memGetAddressRange),
        entry("cuPointerGetAttribute", pointerGetAttribute),
        entry("cuCtxGetCurrent", ctxGetCurrent),
        entry("cuCtxSetCurrent", ctxSetCurrent),
        entry("cuCtxGetDevice", ctxGetDevice),
        entry("cuLaunchKernel", launchOld),
        entry("cuLaunchKernelEx", launchNew),
    };
    return guarded([&] {
        if (name == nullptr || function == nullptr) return Status::InvalidValue;
        *function = nullptr;
        for (const Entry& known : entries) {
            if (std::strcmp(known.name, name) == 0) *function = known.function;
        }
        if (result != nullptr) {
            *result = *function != nullptr ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
        }
        return Status::Ok;
    });
}
