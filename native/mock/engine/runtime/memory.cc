#include "memory.h"

#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>

#include "../base.h"

namespace mock {

namespace {
// Both patterns are far from sensible data in every type: NaN or -1 when new, huge negative or -2 when freed.
constexpr int newPoison = 0xff;
constexpr int freedPoison = 0xfe;
constexpr size_t alignment = 512;
constexpr size_t quarantineBytes = size_t(64) << 20;
}  // namespace

DeviceMemory::DeviceMemory(int device, size_t capacity) : device_(device), capacity_(capacity) {
    file_ = memfd_create("mock-device", MFD_CLOEXEC);
    if (file_ < 0 || ftruncate(file_, static_cast<off_t>(capacity)) != 0) fatal("cannot create device memory");
    void* alias = mmap(nullptr, capacity, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_, 0);
    const int access = setting("MOCK_HOST_ACCESS", 0) != 0 ? PROT_READ | PROT_WRITE : PROT_NONE;
    void* window = mmap(nullptr, capacity, access, MAP_SHARED | MAP_NORESERVE, file_, 0);
    if (alias == MAP_FAILED || window == MAP_FAILED) fatal("cannot map device memory");
    alias_ = static_cast<char*>(alias);
    window_ = static_cast<char*>(window);
    free_[0] = capacity;
}

bool DeviceMemory::contains(const void* address) const {
    return reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(window_) < capacity_;
}

void* DeviceMemory::allocate(size_t bytes) {
    if (bytes > capacity_) return nullptr;
    size_t room = (bytes + alignment - 1) / alignment * alignment;
    void* result;
    {
        std::lock_guard<std::mutex> lock(mutex_);
        if (used_ + room > capacity_) return nullptr;
        result = place(bytes, room);
        if (result == nullptr) {
            drain(0);
            result = place(bytes, room);
        }
        if (result != nullptr) used_ += room;
    }
    if (result != nullptr) std::memset(alias_ + (static_cast<char*>(result) - window_), newPoison, room);
    return result;
}

bool DeviceMemory::reserve(size_t bytes) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (used_ + bytes > capacity_) return false;
    used_ += bytes;
    return true;
}

void DeviceMemory::giveBack(size_t bytes) {
    std::lock_guard<std::mutex> lock(mutex_);
    used_ -= bytes;
}

size_t DeviceMemory::used() {
    std::lock_guard<std::mutex> lock(mutex_);
    return used_;
}

void* DeviceMemory::place(size_t bytes, size_t room) {
    for (auto span = free_.begin(); span != free_.end(); ++span) {
        if (span->second < room) continue;
        uintptr_t offset = span->first;
        size_t rest = span->second - room;
        free_.erase(span);
        if (rest > 0) free_[offset + room] = rest;
        blocks_[offset] = Extent{bytes, room};
        return window_ + offset;
    }
    return nullptr;
}

bool DeviceMemory::isBlock(const void* address) {
    if (!contains(address)) return false;
    std::lock_guard<std::mutex> lock(mutex_);
    return blocks_.count(static_cast<size_t>(static_cast<const char*>(address) - window_)) != 0;
}

bool DeviceMemory::release(void* address) {
    if (!contains(address)) return false;
    std::lock_guard<std::mutex> lock(mutex_);
    auto block = blocks_.find(static_cast<size_t>(static_cast<char*>(address) - window_));
    if (block == blocks_.end()) return false;
    Span span{block->first, block->second.room};
    blocks_.erase(block);
    used_ -= span.room;
    // An operation that is still running on this memory now works on poison, which its result shows.
    std::memset(alias_ + span.offset, freedPoison, span.room);
    quarantine_.push_back(span);
    quarantined_ += span.room;
    drain(quarantineBytes);
    return true;
}

// Addresses come back late, so that a stale pointer meets no new block.
void DeviceMemory::drain(size_t limit) {
    while (quarantined_ > limit) {
        Span span = quarantine_.front();
        quarantine_.pop_front();
        quarantined_ -= span.room;
        recycle(span);
    }
}

void DeviceMemory::recycle(Span span) {
    fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(span.offset),
              static_cast<off_t>(span.room));
    auto next = free_.lower_bound(span.offset);
    if (next != free_.end() && span.offset + span.room == next->first) {
        span.room += next->second;
        next = free_.erase(next);
    }
    if (next != free_.begin()) {
        auto previous = std::prev(next);
        if (previous->first + previous->second == span.offset) {
            previous->second += span.room;
            return;
        }
    }
    free_[span.offset] = span.room;
}

DeviceMemory::Block DeviceMemory::blockAt(const void* address) {
    if (!contains(address)) return {};
    uintptr_t offset = static_cast<size_t>(static_cast<const char*>(address) - window_);
    std::lock_guard<std::mutex> lock(mutex_);
    auto block = blocks_.upper_bound(offset);
    if (block == blocks_.begin()) return {};
    --block;
    if (offset >= block->first + block->second.bytes) return {};
    return {window_ + block->first, block->first, block->second.bytes};
}

size_t DeviceMemory::roomAt(const void* address) {
    Block block = blockAt(address);
    if (block.address == nullptr) return 0;
    return static_cast<size_t>(block.address + block.bytes - static_cast<const char*>(address));
}

char* DeviceMemory::alias(const void* address, size_t bytes, const char* user) {
    size_t room = roomAt(address);
    if (room < bytes) {
        fatal("illegal access: %s: %zu bytes at %p on device %d: the range %s", user, bytes, address, device_,
              room == 0 ? "is in no live allocation (freed, or past its end)" : "runs past the end of its allocation");
    }
    return alias_ + (static_cast<const char*>(address) - window_);
}

}  // namespace mock
