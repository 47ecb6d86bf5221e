// Device and host memory, copies and fills.
#include "../../engine/runtime/copy.h"
#include "../../engine/runtime/hostmemory.h"
#include "guard.h"

using namespace mock;
using namespace mock::cuda;

namespace {

Direction direction(cudaMemcpyKind kind) { return static_cast<Direction>(static_cast<int>(kind)); }

Status allocatePinned(void** address, size_t bytes, HostKind kind) {
    if (address == nullptr) return Status::InvalidValue;
    Status safe = unsafeCall();
    if (safe != Status::Ok) return safe;
    *address = allocateHost(bytes, kind);
    return *address == nullptr && bytes > 0 ? Status::OutOfMemory : Status::Ok;
}

}  // namespace

MOCK_API cudaError_t cudaMalloc(void** address, size_t bytes) {
    return guarded([&] { return allocate(address, bytes); });
}

MOCK_API cudaError_t cudaFree(void* address) {
    return guarded([&] {
        if (address != nullptr && hostKind(address) == HostKind::Managed) return freeHost(address, HostKind::Managed);
        return release(address);
    });
}

MOCK_API cudaError_t cudaMallocAsync(void** address, size_t bytes, cudaStream_t handle) {
    return onStream(handle, [&](Stream& stream) { return allocateOrdered(address, bytes, stream); });
}

MOCK_API cudaError_t cudaFreeAsync(void* address, cudaStream_t handle) {
    return onStream(handle, [&](Stream& stream) { return releaseOrdered(address, stream); });
}

MOCK_API cudaError_t cudaMallocManaged(void** address, size_t bytes, unsigned int) {
    return guarded([&] { return allocatePinned(address, bytes, HostKind::Managed); });
}

MOCK_API cudaError_t cudaMallocHost(void** address, size_t bytes) {
    return guarded([&] { return allocatePinned(address, bytes, HostKind::Pinned); });
}

MOCK_API cudaError_t cudaHostAlloc(void** address, size_t bytes, unsigned int) {
    return guarded([&] { return allocatePinned(address, bytes, HostKind::Pinned); });
}

MOCK_API cudaError_t cudaFreeHost(void* address) {
    return guarded([&] {
        Status safe = unsafeCall();
        if (safe != Status::Ok || address == nullptr) return safe;
        return freeHost(address, HostKind::Pinned);
    });
}

MOCK_API cudaError_t cudaHostRegister(void* address, size_t bytes, unsigned int) {
    return guarded([&] { return registerHost(address, bytes); });
}

MOCK_API cudaError_t cudaHostUnregister(void* address) {
    return guarded([&] { return unregisterHost(address); });
}

MOCK_API cudaError_t cudaHostGetDevicePointer(void** device, void* address, unsigned int flags) {
    return guarded([&] {
        if (device == nullptr || flags != 0 || !isPinned(address, 1)) return Status::InvalidValue;
        *device = address;
        return Status::Ok;
    });
}

MOCK_API cudaError_t cudaMemGetInfo(size_t* available, size_t* total) {
    return guarded([&] {
        if (available == nullptr || total == nullptr) return Status::InvalidValue;
        *available = device(currentDevice()).memory.available();
        *total = device(currentDevice()).memory.capacity();
        return Status::Ok;
    });
}

MOCK_API cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* address) {
    return guarded([&] {
        if (attributes == nullptr || address == nullptr) return Status::InvalidValue;
        *attributes = cudaPointerAttributes{};
        void* pointer = const_cast<void*>(address);
        if (Device* owner = deviceOf(address)) {
            void* start = nullptr;
            size_t size = 0;
            if (!owner->memory.blockOf(address, &start, &size)) return Status::InvalidValue;
            attributes->type = cudaMemoryTypeDevice;
            attributes->device = owner->index;
            attributes->devicePointer = pointer;
            return Status::Ok;
        }
        attributes->hostPointer = pointer;
        switch (hostKind(address)) {
            case HostKind::Pageable:
                attributes->type = cudaMemoryTypeUnregistered;
                attributes->device = -2;
                return Status::Ok;
            case HostKind::Managed: attributes->type = cudaMemoryTypeManaged; break;
            default: attributes->type = cudaMemoryTypeHost;
        }
        attributes->device = currentDevice();
        attributes->devicePointer = pointer;
        return Status::Ok;
    });
}

MOCK_API cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
    return onStream(nullptr, [&](Stream& stream) { return copy(to, from, bytes, direction(kind), stream, true); });
}

MOCK_API cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                                     cudaStream_t handle) {
    return onStream(handle, [&](Stream& stream) { return copy(to, from, bytes, direction(kind), stream, false); });
}

MOCK_API cudaError_t cudaMemcpyPeerAsync(void* to, int toDevice, const void* from, int fromDevice, size_t bytes,
                                         cudaStream_t handle) {
    return onStream(handle, [&](Stream& stream) {
        Device* target = deviceOf(to);
        Device* source = deviceOf(from);
        if (target == nullptr || source == nullptr) return Status::InvalidValue;
        if (target->index != toDevice || source->index != fromDevice) return Status::InvalidDevice;
        return copy(to, from, bytes, Direction::DeviceToDevice, stream, false);
    });
}

MOCK_API cudaError_t cudaMemset(void* to, int value, size_t bytes) {
    return onStream(nullptr, [&](Stream& stream) { return fill(to, value, bytes, stream, true); });
}

MOCK_API cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t handle) {
    return onStream(handle, [&](Stream& stream) { return fill(to, value, bytes, stream, false); });
}
