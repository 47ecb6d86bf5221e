// Device memory, page-locked memory and copies.
#include <cstring>

#include "../../engine/runtime/copy.h"
#include "../../engine/runtime/handles.h"
#include "../../engine/runtime/shared.h"
#include "guard.h"
#include "peers.h"

using namespace mock;
using namespace mock::cuda;

namespace {

Direction direction(cudaMemcpyKind kind) { return static_cast<Direction>(static_cast<int>(kind)); }

/** A name of the device's memory: what is taken from one pool is not kept apart from the rest. */
struct Pool {
    std::atomic<bool> live{false};
    int device = 0;
};

Handles<Pool>& pools() {
    static auto* all = new Handles<Pool>(size_t(1) << 16, true);
    return *all;
}

template <class Body>
cudaError_t onPool(cudaMemPool_t handle, Body body) {
    return guarded([&] {
        Pool* pool = pools().find(handle);
        return pool == nullptr ? Status::InvalidValue : body(*pool);
    });
}

}  // namespace

MOCK_API cudaError_t cudaMalloc(void** address, size_t bytes) {
    return guarded([&] { return allocate(address, bytes); });
}

MOCK_API cudaError_t cudaFree(void* address) {
    return guarded([&] {
        Status safe = unsafeCall();
        if (safe != Status::Ok) return safe;
        // Memory is taken away from all devices that reach it, so from none while it runs.
        if (Device* owner = deviceOf(address)) {
            for (int peer : devicesThatReach(owner->index)) {
                for (const Position& position : device(peer).tails()) position.await();
            }
        }
        return release(address);
    });
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

MOCK_API cudaError_t cudaMemset(void* address, int value, size_t bytes) {
    return onStream(nullptr, [&](Stream& stream) {
        Status safe = unsafeCall();
        return safe == Status::Ok ? fill(address, value, bytes, stream) : safe;
    });
}

MOCK_API cudaError_t cudaMemsetAsync(void* address, int value, size_t bytes, cudaStream_t handle) {
    return onStream(handle, [&](Stream& stream) { return fill(address, value, bytes, stream); });
}

MOCK_API cudaError_t cudaHostRegister(void* address, size_t bytes, unsigned flags) {
    constexpr unsigned known = cudaHostRegisterPortable | cudaHostRegisterMapped;
    return guarded([&] { return (flags & ~known) != 0 ? Status::InvalidValue : registerHost(address, bytes); });
}

MOCK_API cudaError_t cudaHostUnregister(void* address) {
    return guarded([&] { return unregisterHost(address); });
}

MOCK_API cudaError_t cudaHostGetDevicePointer(void** onDevice, void* address, unsigned flags) {
    return guarded([&] {
        if (onDevice == nullptr || flags != 0 || !isPageLocked(address, 1)) return Status::InvalidValue;
        *onDevice = address;
        return Status::Ok;
    });
}

MOCK_API cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* address) {
    return guarded([&] {
        if (attributes == nullptr) return Status::InvalidValue;
        *attributes = {};
        auto place = const_cast<void*>(address);
        if (Device* owner = deviceOf(address)) {
            if (owner->memory.roomAt(address) == 0) return Status::InvalidValue;
            *attributes = {cudaMemoryTypeDevice, owner->index, place, nullptr, {}};
        } else if (isImported(address)) {
            *attributes = {cudaMemoryTypeDevice, currentDevice(), place, nullptr, {}};
        } else if (isPageLocked(address, 1)) {
            *attributes = {cudaMemoryTypeHost, currentDevice(), place, place, {}};
        } else {
            *attributes = {cudaMemoryTypeUnregistered, -2, nullptr, place, {}};
        }
        return Status::Ok;
    });
}

MOCK_API cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* address) {
    return guarded([&] {
        if (handle == nullptr) return Status::InvalidValue;
        SharedBlock block;
        Status status = exportBlock(address, &block);
        static_assert(sizeof block <= sizeof *handle);
        *handle = {};
        if (status == Status::Ok) std::memcpy(handle, &block, sizeof block);
        return status;
    });
}

MOCK_API cudaError_t cudaIpcOpenMemHandle(void** address, cudaIpcMemHandle_t handle, unsigned flags) {
    return guarded([&] {
        if (address == nullptr || flags != cudaIpcMemLazyEnablePeerAccess) return Status::InvalidValue;
        Status safe = unsafeCall();
        if (safe != Status::Ok) return safe;
        SharedBlock block;
        std::memcpy(&block, &handle, sizeof block);
        return importBlock(block, address);
    });
}

MOCK_API cudaError_t cudaIpcCloseMemHandle(void* address) {
    return guarded([&] { return closeImport(address); });
}

MOCK_API cudaError_t cudaMemPoolCreate(cudaMemPool_t* handle, const cudaMemPoolProps* properties) {
    return guarded([&] {
        bool known = handle != nullptr && properties != nullptr &&
                     properties->allocType == cudaMemAllocationTypePinned && properties->handleTypes == 0 &&
                     properties->location.type == cudaMemLocationTypeDevice && properties->location.id >= 0 &&
                     properties->location.id < deviceCount();
        if (!known) return Status::InvalidValue;
        Pool* pool = pools().create();
        pool->device = properties->location.id;
        *handle = reinterpret_cast<cudaMemPool_t>(pool);
        return Status::Ok;
    });
}

MOCK_API cudaError_t cudaMemPoolDestroy(cudaMemPool_t handle) {
    return onPool(handle, [](Pool& pool) {
        pools().destroy(&pool);
        return Status::Ok;
    });
}

MOCK_API cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t handle, cudaMemPoolAttr attribute, void* value) {
    return onPool(handle, [&](Pool&) {
        bool known = attribute == cudaMemPoolAttrReleaseThreshold && value != nullptr;
        return known ? Status::Ok : Status::InvalidValue;
    });
}

MOCK_API cudaError_t cudaMallocFromPoolAsync(void** address, size_t bytes, cudaMemPool_t handle,
                                             cudaStream_t streamHandle) {
    return onPool(handle, [&](Pool& pool) {
        Stream* stream = streamOf(streamHandle);
        if (stream == nullptr) return Status::InvalidHandle;
        if (address == nullptr) return Status::InvalidValue;
        // Nodes that allocate memory are not mocked.
        if (stream->capture.load() != nullptr) return Status::CaptureUnsupported;
        *address = bytes == 0 ? nullptr : device(pool.device).memory.allocate(bytes);
        return *address == nullptr && bytes > 0 ? Status::OutOfMemory : Status::Ok;
    });
}

MOCK_API cudaError_t cudaFreeAsync(void* address, cudaStream_t handle) {
    return onStream(handle, [&](Stream& stream) { return releaseInOrder(address, stream); });
}
