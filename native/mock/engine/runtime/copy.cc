#include "copy.h"

#include <cstring>
#include <memory>
#include <vector>

#include "hostmemory.h"
#include "sticky.h"

namespace mock {

namespace {

bool onDevice(const void* address) { return deviceOf(address) != nullptr; }

/** The range lies in one live block, as far as can be told at the time of the call. */
bool isUsable(const void* address, size_t bytes) {
    Device* owner = deviceOf(address);
    if (owner == nullptr) return address != nullptr;
    void* start = nullptr;
    size_t size = 0;
    if (!owner->memory.blockOf(address, &start, &size)) return false;
    return bytes <= size - static_cast<size_t>(static_cast<const char*>(address) - static_cast<char*>(start));
}

bool directionFits(const void* to, const void* from, Direction direction) {
    auto asked = static_cast<int>(direction);
    if (asked < 0 || asked > 4) return false;
    if (direction == Direction::Default) return true;
    bool toDevice = direction == Direction::HostToDevice || direction == Direction::DeviceToDevice;
    bool fromDevice = direction == Direction::DeviceToHost || direction == Direction::DeviceToDevice;
    return toDevice == onDevice(to) && fromDevice == onDevice(from);
}

/** Any host memory, or device memory through its alias. */
char* place(const void* address, size_t bytes, const char* user) {
    if (Device* owner = deviceOf(address)) return owner->memory.alias(address, bytes, user);
    return static_cast<char*>(const_cast<void*>(address));
}

Task copyTask(void* to, const void* from, size_t bytes) {
    return [=] {
        char* target = place(to, bytes, "copy to");
        const char* source = place(from, bytes, "copy from");
        if (target != nullptr && source != nullptr) std::memmove(target, source, bytes);
    };
}

}  // namespace

char* workerView(const void* address, size_t bytes, const char* user) {
    if (Device* owner = deviceOf(address)) return owner->memory.alias(address, bytes, user);
    if (isPinned(address, bytes)) return static_cast<char*>(const_cast<void*>(address));
    illegalAccess("%s: %zu bytes at %p are neither device memory nor page-locked", user, bytes, address);
    return nullptr;
}

Status copy(void* to, const void* from, size_t bytes, Direction direction, Stream& stream, bool synchronous) {
    if (synchronous) {
        Status safe = unsafeCall();
        if (safe != Status::Ok) return safe;
    }
    if (!directionFits(to, from, direction)) return Status::InvalidValue;
    if (bytes == 0) return Status::Ok;
    if (!isUsable(to, bytes) || !isUsable(from, bytes)) return Status::InvalidValue;
    bool pageableSource = !onDevice(from) && !isPinned(from, bytes);
    bool pageableTarget = !onDevice(to) && !isPinned(to, bytes);
    bool captured = stream.capture.load() != nullptr;
    Position position;
    if (pageableSource && onDevice(to) && !synchronous && !captured) {
        // The source may be reused at once: its bytes are staged before the call returns.
        auto bytesAt = static_cast<const char*>(from);
        auto staged = std::make_shared<std::vector<char>>(bytesAt, bytesAt + bytes);
        return submit(stream, [to, staged] { copyTask(to, staged->data(), staged->size())(); });
    }
    Status status = submit(stream, copyTask(to, from, bytes), nullptr, &position);
    if (status != Status::Ok || captured) return status;
    bool hostTakesPart = !onDevice(to) || !onDevice(from);
    if (pageableSource || pageableTarget || (synchronous && hostTakesPart)) position.await();
    return stickyStatus();
}

Status fill(void* to, int value, size_t bytes, Stream& stream, bool synchronous) {
    if (synchronous) {
        Status safe = unsafeCall();
        if (safe != Status::Ok) return safe;
    }
    if (bytes == 0) return Status::Ok;
    if ((!onDevice(to) && !isPinned(to, bytes)) || !isUsable(to, bytes)) return Status::InvalidValue;
    return submit(stream, [=] {
        char* target = place(to, bytes, "fill");
        if (target != nullptr) std::memset(target, value, bytes);
    });
}

Status copyNow(void* to, const void* from, size_t bytes, Direction direction) {
    if (stickyStatus() != Status::Ok) return stickyStatus();
    if (!directionFits(to, from, direction)) return Status::InvalidValue;
    if (bytes == 0) return Status::Ok;
    if (!isUsable(to, bytes) || !isUsable(from, bytes)) return Status::InvalidValue;
    copyTask(to, from, bytes)();
    return stickyStatus();
}

Status fillNow(void* to, int value, size_t bytes) {
    if (stickyStatus() != Status::Ok) return stickyStatus();
    if (bytes == 0) return Status::Ok;
    if (!isUsable(to, bytes)) return Status::InvalidValue;
    char* target = place(to, bytes, "fill");
    if (target != nullptr) std::memset(target, value, bytes);
    return stickyStatus();
}

Status copyInOrder(void* to, const void* from, size_t bytes, Direction direction, Stream& stream, Position* position) {
    if (!directionFits(to, from, direction)) return Status::InvalidValue;
    if (bytes == 0) return Status::Ok;
    if (!isUsable(to, bytes) || !isUsable(from, bytes)) return Status::InvalidValue;
    return submit(stream, copyTask(to, from, bytes), nullptr, position);
}

Status allocate(void** address, size_t bytes) {
    if (address == nullptr) return Status::InvalidValue;
    *address = nullptr;
    Status safe = unsafeCall();
    if (safe != Status::Ok || bytes == 0) return safe;
    *address = device(currentDevice()).memory.allocate(bytes, true);
    return *address == nullptr ? Status::OutOfMemory : Status::Ok;
}

Status release(void* address) {
    Status safe = unsafeCall();
    if (safe != Status::Ok || address == nullptr) return safe;
    Device* owner = deviceOf(address);
    if (owner == nullptr || !owner->memory.isBlock(address)) return Status::InvalidValue;
    // Freeing waits for the device, which is why it has no place beside running collectives.
    for (const Position& position : owner->tails()) position.await();
    return owner->memory.release(address) ? Status::Ok : Status::InvalidValue;
}

Status releaseNow(void* address) {
    Device* owner = deviceOf(address);
    return owner != nullptr && owner->memory.release(address) ? Status::Ok : Status::InvalidValue;
}

Status allocateOrdered(void** address, size_t bytes, Stream& stream) {
    if (address == nullptr) return Status::InvalidValue;
    *address = nullptr;
    if (stream.capture.load() != nullptr) return Status::CaptureUnsupported;
    if (bytes == 0) return Status::Ok;
    DeviceMemory& memory = device(stream.device).memory;
    void* block = memory.allocate(bytes, false);
    if (block == nullptr) return Status::OutOfMemory;
    Status status = submit(stream, [&memory, block] { memory.makeReady(block); });
    if (status == Status::Ok) *address = block;
    return status;
}

Status releaseOrdered(void* address, Stream& stream) {
    if (address == nullptr) return Status::Ok;
    Device* owner = deviceOf(address);
    if (owner == nullptr || !owner->memory.isBlock(address)) return Status::InvalidValue;
    if (stream.capture.load() != nullptr) return Status::CaptureUnsupported;
    return submit(stream, [owner, address] {
        if (!owner->memory.release(address)) illegalAccess("freed twice: %p", address);
    });
}

}  // namespace mock
