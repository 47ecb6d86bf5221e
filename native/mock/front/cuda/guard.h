// Every entry point runs through `guarded`: thread rules and the thread's last error.
#pragma once
#include "../../engine/base.h"
#include "../../engine/runtime/runtime.h"
#include "types.h"

namespace mock::cuda {

extern thread_local cudaError_t lastError;

/** As built, for instance 13000. */
extern const int runtimeVersion;

/** What the driver supports; 0 where there is none. */
inline int driverVersion() { return static_cast<int>(setting("MOCK_CUDA_DRIVER", 13000)); }

cudaError_t translate(Status status);
cudaError_t remember(cudaError_t error);

/** For calls that need a device. */
template <class Body>
cudaError_t guarded(Body body) {
    if (inHostFunction) return cudaErrorNotPermitted;
    // A newer minor version works with an older driver, a newer major version does not.
    if (driverVersion() / 1000 < runtimeVersion / 1000) return remember(cudaErrorInsufficientDriver);
    if (deviceCount() == 0) return remember(cudaErrorNoDevice);
    Status status = body();
    // An error of the device comes out of every call, and most do nothing but tell it.
    if (status == Status::Ok && device(currentDevice()).broken != 0) status = Status::Broken;
    return status == Status::Ok ? cudaSuccess : remember(translate(status));
}

/** The live stream behind a handle, of which two mean the device's own; null for anything else. */
inline Stream* streamOf(cudaStream_t handle) { return findStream(handle == cudaStreamLegacy ? nullptr : handle); }

/** For calls on a stream given by handle. */
template <class Body>
cudaError_t onStream(cudaStream_t handle, Body body) {
    return guarded([&] {
        Stream* stream = streamOf(handle);
        return stream == nullptr ? Status::InvalidHandle : body(*stream);
    });
}

}  // namespace mock::cuda
