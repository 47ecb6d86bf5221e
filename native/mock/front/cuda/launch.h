// Launches by the driver's functions.
#pragma once
#include "types.h"

namespace mock::cuda {

/** A registered kernel with its argument as the driver is given it: as bytes. */
cudaError_t launchWithBuffer(const void* kernel, const void* argument, size_t bytes, cudaStream_t handle);

}  // namespace mock::cuda
