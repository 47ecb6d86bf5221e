// Device memory and copies.
#include "../../engine/runtime/copy.h"
#include "guard.h"

using namespace mock;
using namespace mock::cuda;

namespace {

Direction direction(cudaMemcpyKind kind) { return static_cast<Direction>(static_cast<int>(kind)); }

}  // namespace

MOCK_API cudaError_t cudaMalloc(void** address, size_t bytes) {
    return guarded([&] { return allocate(address, bytes); });
}

MOCK_API cudaError_t cudaFree(void* address) {
    return guarded([&] { return release(address); });
}

MOCK_API cudaError_t cudaHostAlloc(void** address, size_t bytes, unsigned flags) {
    constexpr unsigned known = cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
    return guarded([&] { return (flags & ~known) != 0 ? Status::InvalidValue : allocateHost(address, bytes); });
}

MOCK_API cudaError_t cudaFreeHost(void* address) {
    return guarded([&] {
        // As cudaFree.
        Status idle = address == nullptr ? Status::Ok : synchronizeDevice();
        return idle == Status::Ok ? releaseHost(address) : idle;
    });
}

MOCK_API cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
    return onStream(nullptr, [&](Stream& stream) { return copy(to, from, bytes, direction(kind), stream, true); });
}

MOCK_API cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                                     cudaStream_t handle) {
    return onStream(handle, [&](Stream& stream) { return copy(to, from, bytes, direction(kind), stream, false); });
}
