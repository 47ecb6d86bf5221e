// libnvidia-ml.so.1 for NCCL: the devices of native/mock, joined by PCI only.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "../mock/engine/base.h"
#include "../mock/front/cuda/bus.h"

namespace {

enum Result { success = 0, invalidArgument = 2, notSupported = 3, notFound = 6 };

using Handle = void*;

/** NCCL takes this many, and refuses to start with more; those after them are not to be used with it. */
constexpr long most = 32;

int count() {
    long devices = mock::setting("MOCK_DEVICES", 4);
    return static_cast<int>(devices < most ? devices : most);
}

Handle handleOf(int index) { return reinterpret_cast<Handle>(static_cast<intptr_t>(index) + 1); }

}  // namespace

MOCK_API int nvmlInit_v2() { return success; }
MOCK_API int nvmlShutdown() { return success; }
MOCK_API const char* nvmlErrorString(int code) { return code == success ? "Success" : "Error of the mock NVML"; }

MOCK_API int nvmlDeviceGetCount_v2(unsigned* devices) {
    *devices = static_cast<unsigned>(count());
    return success;
}

MOCK_API int nvmlDeviceGetHandleByIndex(unsigned index, Handle* device) {
    if (index >= static_cast<unsigned>(count())) return invalidArgument;
    *device = handleOf(static_cast<int>(index));
    return success;
}

MOCK_API int nvmlDeviceGetHandleByPciBusId(const char* text, Handle* device) {
    for (int i = 0; i < count(); ++i) {
        char own[32];
        std::snprintf(own, sizeof own, mock::cuda::busFormat, mock::cuda::busOf(i));
        if (strcasecmp(own, text) != 0) continue;
        *device = handleOf(i);
        return success;
    }
    return notFound;
}

MOCK_API int nvmlDeviceGetIndex(Handle device, unsigned* index) {
    *index = static_cast<unsigned>(reinterpret_cast<intptr_t>(device)) - 1;
    return success;
}

MOCK_API int nvmlDeviceGetCudaComputeCapability(Handle, int* major, int* minor) {
    int capability = static_cast<int>(mock::setting("MOCK_COMPUTE_CAPABILITY", 90));
    *major = capability / 10;
    *minor = capability % 10;
    return success;
}

MOCK_API int nvmlDeviceGetP2PStatus(Handle, Handle, int, int* status) {
    *status = 0;
    return success;
}

MOCK_API int nvmlDeviceGetNvLinkState(Handle, unsigned, int*) { return notSupported; }
MOCK_API int nvmlDeviceGetNvLinkCapability(Handle, unsigned, int, unsigned*) { return notSupported; }
MOCK_API int nvmlDeviceGetNvLinkRemotePciInfo(Handle, unsigned, void*) { return notSupported; }
MOCK_API int nvmlDeviceGetFieldValues(Handle, int, void*) { return notSupported; }
