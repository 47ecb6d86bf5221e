// Memory as kernels reach it: on devices, and page-locked on the host.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

extern "C" void* mockCudaView(const void* address, size_t bytes, const char* user);

namespace emulator {

/** Where the bytes behind an address are. Ends the process if a kernel could not reach all of them. */
template <class T>
T* view(T* address, size_t count, const char* user) {
    if (count == 0) return nullptr;
    return static_cast<T*>(mockCudaView(const_cast<const void*>(static_cast<const volatile void*>(address)),
                                        count * sizeof(T), user));
}

template <class T>
T& at(T* address, const char* user) {
    return *view(address, 1, user);
}

inline uint64_t acquire(const uint64_t& value) { return __atomic_load_n(&value, __ATOMIC_ACQUIRE); }
inline void release(uint64_t& place, uint64_t value) { __atomic_store_n(&place, value, __ATOMIC_RELEASE); }

/** Ends the process: NCCL asked for something that the emulator does not have. */
[[noreturn]] inline void refuse(const char* what, const char* detail) {
    std::fprintf(stderr, "nccl-host: %s: %s\n", what, detail);
    std::abort();
}

}  // namespace emulator
