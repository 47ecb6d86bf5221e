// The body that all of NCCL's kernels have here.
#pragma once
#include <cstddef>

namespace emulator {

/** Runs on the stream's thread until the works of the launch are done, or the communicator's abort flag is set. */
void runKernel(const void* arguments, size_t bytes);

}  // namespace emulator
