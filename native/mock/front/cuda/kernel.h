// What a library that is built with host functions in the place of kernels asks of libcudart beyond its public functions.
#pragma once
#include <cstddef>

extern "C" {
/** Names what runs, on the stream's thread, when `kernel` is launched with one argument of at most so many bytes. */
__attribute__((visibility("default"))) void mockCudaRegisterKernel(const void* kernel,
                                                                   void (*body)(const void* argument, size_t bytes),
                                                                   size_t most);
/** Where a kernel finds memory of a device or page-locked memory of the host; ends the process for any other. */
__attribute__((visibility("default"))) void* mockCudaView(const void* address, size_t bytes, const char* user);
}
