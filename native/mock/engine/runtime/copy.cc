#include "copy.h"

#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <sys/mman.h>
#include <vector>

#include "shared.h"

namespace mock {

namespace {

bool onDevice(const void* address) { return deviceOf(address) != nullptr || isImported(address); }

/** The range lies in one live block, as far as can be told at the time of the call. */
bool isUsable(const void* address, size_t bytes) {
    if (Device* owner = deviceOf(address)) return owner->memory.roomAt(address) >= bytes;
    return isImported(address) ? importedView(address, bytes) != nullptr : address != nullptr;
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

struct Locked {
    size_t bytes;
    /** The caller's own memory, not the library's. */
    bool registered;
};

/** Page-locked host memory by its first address. */
std::mutex lockedMutex;
std::map<uintptr_t, Locked>& locked() {
    static auto* blocks = new std::map<uintptr_t, Locked>;
    return *blocks;
}

}  // namespace

bool isPageLocked(const void* address, size_t bytes) {
    auto begin = reinterpret_cast<uintptr_t>(address);
    std::lock_guard<std::mutex> lock(lockedMutex);
    auto block = locked().upper_bound(begin);
    if (block == locked().begin()) return false;
    --block;
    return begin + bytes <= block->first + block->second.bytes;
}

/** Whether memory that is not there is the address 0 and no error. Page-locked memory then never is there. */
static bool isSilentWhenFull() { return setting("MOCK_NULL_MEMORY", 0) == 1; }

Status allocateHost(void** address, size_t bytes) {
    if (address == nullptr || bytes == 0) return Status::InvalidValue;
    *address = nullptr;
    Status safe = unsafeCall();
    if (safe != Status::Ok || isSilentWhenFull()) return safe;
    void* block = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) return Status::OutOfMemory;
    std::memset(block, 0xff, bytes);
    std::lock_guard<std::mutex> lock(lockedMutex);
    locked()[reinterpret_cast<uintptr_t>(block)] = {bytes, false};
    *address = block;
    return Status::Ok;
}

Status releaseHost(void* address) {
    Status safe = unsafeCall();
    if (safe != Status::Ok || address == nullptr) return safe;
    std::lock_guard<std::mutex> lock(lockedMutex);
    auto block = locked().find(reinterpret_cast<uintptr_t>(address));
    if (block == locked().end() || block->second.registered) return Status::InvalidValue;
    // The address is not given to anybody else: a stale pointer meets nothing.
    mmap(address, block->second.bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    locked().erase(block);
    return Status::Ok;
}

Status registerHost(void* address, size_t bytes) {
    if (address == nullptr || bytes == 0) return Status::InvalidValue;
    Status safe = unsafeCall();
    if (safe != Status::Ok) return safe;
    auto begin = reinterpret_cast<uintptr_t>(address);
    std::lock_guard<std::mutex> lock(lockedMutex);
    auto next = locked().lower_bound(begin);
    bool overlaps = next != locked().end() && next->first < begin + bytes;
    if (next != locked().begin()) {
        auto previous = std::prev(next);
        overlaps |= begin < previous->first + previous->second.bytes;
    }
    if (overlaps) return Status::AlreadyRegistered;
    locked()[begin] = {bytes, true};
    return Status::Ok;
}

Status unregisterHost(void* address) {
    Status safe = unsafeCall();
    if (safe != Status::Ok) return safe;
    std::lock_guard<std::mutex> lock(lockedMutex);
    auto block = locked().find(reinterpret_cast<uintptr_t>(address));
    if (block == locked().end() || !block->second.registered) return Status::NotRegistered;
    locked().erase(block);
    return Status::Ok;
}

char* workerView(const void* address, size_t bytes, const char* user) {
    if (Device* owner = deviceOf(address)) return owner->memory.alias(address, bytes, user);
    char* view = importedView(address, bytes);
    if (view == nullptr) fatal("%s: %zu bytes at %p are not device memory", user, bytes, address);
    return view;
}

char* kernelView(const void* address, size_t bytes, const char* user) {
    bool inHostMemory = !onDevice(address) && isPageLocked(address, bytes);
    return inHostMemory ? static_cast<char*>(const_cast<void*>(address)) : workerView(address, bytes, user);
}

Status copy(void* to, const void* from, size_t bytes, Direction direction, Stream& stream, bool synchronous) {
    Status allowed = synchronous ? unsafeCall() : Status::Ok;
    if (allowed == Status::Ok) allowed = check(to, from, bytes, direction);
    if (allowed != Status::Ok || bytes == 0) return allowed;
    bool captured = stream.capture.load() != nullptr;
    bool pageLocked = onDevice(to) != onDevice(from) && isPageLocked(onDevice(to) ? from : to, bytes);
    if (pageLocked && !synchronous) return submit(stream, [=] { move(to, from, bytes); });
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
    return *address == nullptr && !isSilentWhenFull() ? Status::OutOfMemory : Status::Ok;
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

Status releaseInOrder(void* address, Stream& stream) {
    Device* owner = deviceOf(address);
    if (owner == nullptr || !owner->memory.isBlock(address)) return Status::InvalidValue;
    // Nodes that free memory are not mocked.
    if (stream.capture.load() != nullptr) return Status::CaptureUnsupported;
    return submit(stream, [address] { releaseNow(address); });
}

Status fill(void* address, int value, size_t bytes, Stream& stream) {
    if (bytes == 0) return Status::Ok;
    if (!onDevice(address) || !isUsable(address, bytes)) return Status::InvalidValue;
    return submit(stream, [=] { std::memset(workerView(address, bytes, "memset"), value, bytes); });
}

}  // namespace mock
