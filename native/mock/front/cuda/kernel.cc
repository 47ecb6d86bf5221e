// Launches.
#include "kernel.h"

#include "../../engine/runtime/copy.h"
#include "guard.h"
#include "launch.h"

using namespace mock;
using namespace mock::cuda;

void mockCudaRegisterKernel(const void* kernel, void (*body)(const void*, size_t), size_t most) {
    registerKernel(kernel, body, most);
}

void* mockCudaView(const void* address, size_t bytes, const char* user) { return kernelView(address, bytes, user); }

namespace mock::cuda {

cudaError_t launchWithBuffer(const void* kernel, const void* argument, size_t bytes, cudaStream_t handle) {
    return onStream(handle, [&](Stream& stream) {
        if (stream.device != currentDevice()) return Status::InvalidHandle;
        return launchRegistered(kernel, argument, bytes, stream);
    });
}

}  // namespace mock::cuda

MOCK_API cudaError_t cudaLaunchKernel(const void* kernel, dim3, dim3, void** arguments, size_t, cudaStream_t handle) {
    return onStream(handle, [&](Stream& stream) {
        // A kernel runs where its stream is, and the thread must be there too.
        if (stream.device != currentDevice()) return Status::InvalidHandle;
        return launchKernel(kernel, arguments, stream);
    });
}

namespace {

template <class Body>
cudaError_t onKernel(const void* kernel, Body body) {
    return guarded([&] {
        if (!isKernel(kernel)) return Status::InvalidFunction;
        body();
        return Status::Ok;
    });
}

}  // namespace

MOCK_API cudaError_t cudaGetFuncBySymbol(cudaFunction_t* function, const void* kernel) {
    return onKernel(kernel, [&] { *function = static_cast<cudaFunction_t>(const_cast<void*>(kernel)); });
}

MOCK_API cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* kernel) {
    return onKernel(kernel, [&] {
        *attributes = {};
        attributes->maxThreadsPerBlock = 640;
        attributes->numRegs = 96;
        attributes->ptxVersion = attributes->binaryVersion = capability();
    });
}

MOCK_API cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
    cudaError_t result = onKernel(kernel, [] {});
    bool known = attribute == cudaFuncAttributeMaxDynamicSharedMemorySize ||
                 attribute == cudaFuncAttributePreferredSharedMemoryCarveout;
    return result == cudaSuccess && (!known || value < 0) ? remember(cudaErrorInvalidValue) : result;
}
