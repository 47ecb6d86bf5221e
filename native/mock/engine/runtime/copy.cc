#include "copy.h"

#include <cstring>
#include <memory>
#include <vector>

namespace mock {

namespace {

bool onDevice(const void* address) { return deviceOf(address) != nullptr; }

/** The range lies in one live block, as far as can be told at the time of the call. */
bool isUsable(const void* address, size_t bytes) {
    Device* owner = deviceOf(address);
    return owner == nullptr ? address != nullptr : owner->memory.roomAt(address) >= bytes;
}

Status check(const void* to, const void* from, size_t bytes, Direction direction) {
    auto asked = static_cast<int>(direction);
    if (asked < 0 || asked > 4) return Status::InvalidValue;
    bool toDevice = direction == Direction::HostToDevice || direction == Direction::DeviceToDevice;
    bool fromDevice = direction == Direction::DeviceToHost || direction == Direction::DeviceToDevice;
    bool fits = direction == Direction::Default || (toDevice == onDevice(to) && fromDevice == onDevice(from));
    bool usable = bytes == 0 || (isUsable(to, bytes) && isUsable(from, bytes));
    return fits && usable ? Status::Ok : Status::InvalidValue;
}

/** Any host memory, or device memory through its alias. */
char* place(const void* address, size_t bytes, const char* user) {
    return onDevice(address) ? workerView(address, bytes, user) : static_cast<char*>(const_cast<void*>(address));
}

void move(void* to, const void* from, size_t bytes) {
    std::memmove(place(to, bytes, "copy to"), place(from, bytes, "copy from"), bytes);
}

}  // namespace

char* workerView(const void* address, size_t bytes, const char* user) {
    Device* owner = deviceOf(address);
    if (owner == nullptr) fatal("%s: %zu bytes at %p are not device memory", user, bytes, address);
    return owner->memory.alias(address, bytes, user);
}

Status copy(void* to, const void* from, size_t bytes, Direction direction, Stream& stream, bool synchronous) {
    Status allowed = synchronous ? unsafeCall() : Status::Ok;
    if (allowed == Status::Ok) allowed = check(to, from, bytes, direction);
    if (allowed != Status::Ok || bytes == 0) return allowed;
    bool captured = stream.capture.load() != nullptr;
    if (!onDevice(from) && onDevice(to) && !synchronous && !captured) {
        // The source may be reused at once: its bytes are staged before the call returns.
        auto bytesAt = static_cast<const char*>(from);
        auto staged = std::make_shared<std::vector<char>>(bytesAt, bytesAt + bytes);
        return submit(stream, [to, staged] { move(to, staged->data(), staged->size()); });
    }
    Position position;
    Status status = submit(stream, [=] { move(to, from, bytes); }, nullptr, &position);
    if (status == Status::Ok && !captured && (!onDevice(to) || !onDevice(from))) position.await();
    return status;
}

Status copyNow(void* to, const void* from, size_t bytes, Direction direction) {
    Status checked = check(to, from, bytes, direction);
    if (checked == Status::Ok && bytes > 0) move(to, from, bytes);
    return checked;
}

Status copyInOrder(void* to, const void* from, size_t bytes, Direction direction, Stream& stream, Position* position) {
    Status checked = check(to, from, bytes, direction);
    if (checked != Status::Ok || bytes == 0) return checked;
    return submit(stream, [=] { move(to, from, bytes); }, nullptr, position);
}

Status allocate(void** address, size_t bytes) {
    if (address == nullptr) return Status::InvalidValue;
    *address = nullptr;
    Status safe = unsafeCall();
    if (safe != Status::Ok || bytes == 0) return safe;
    *address = device(currentDevice()).memory.allocate(bytes);
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

}  // namespace mock
