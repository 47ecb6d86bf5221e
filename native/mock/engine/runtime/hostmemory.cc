#include "hostmemory.h"

#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <sys/mman.h>

namespace mock {

namespace {

struct Range {
    size_t bytes;
    HostKind kind;
};

struct Registry {
    std::mutex mutex;
    std::map<uintptr_t, Range> ranges;

    /** The range around an address; call with the lock held. */
    std::map<uintptr_t, Range>::iterator around(uintptr_t address) {
        auto range = ranges.upper_bound(address);
        if (range == ranges.begin()) return ranges.end();
        --range;
        return address - range->first < range->second.bytes ? range : ranges.end();
    }
};

Registry& registry() {
    static auto* one = new Registry();
    return *one;
}

uintptr_t number(const void* address) { return reinterpret_cast<uintptr_t>(address); }

}  // namespace

void* allocateHost(size_t bytes, HostKind kind) {
    if (bytes == 0) return nullptr;
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    std::memset(memory, 0xff, bytes);
    std::lock_guard<std::mutex> lock(registry().mutex);
    registry().ranges[number(memory)] = Range{bytes, kind};
    return memory;
}

Status freeHost(void* address, HostKind kind) {
    size_t bytes;
    {
        std::lock_guard<std::mutex> lock(registry().mutex);
        auto range = registry().ranges.find(number(address));
        if (range == registry().ranges.end() || range->second.kind != kind) return Status::InvalidValue;
        bytes = range->second.bytes;
        registry().ranges.erase(range);
    }
    munmap(address, bytes);
    return Status::Ok;
}

Status registerHost(void* address, size_t bytes) {
    if (address == nullptr || bytes == 0) return Status::InvalidValue;
    std::lock_guard<std::mutex> lock(registry().mutex);
    auto next = registry().ranges.lower_bound(number(address));
    bool overlap = registry().around(number(address)) != registry().ranges.end() ||
                   (next != registry().ranges.end() && next->first < number(address) + bytes);
    if (overlap) return Status::AlreadyRegistered;
    registry().ranges[number(address)] = Range{bytes, HostKind::Registered};
    return Status::Ok;
}

Status unregisterHost(void* address) {
    std::lock_guard<std::mutex> lock(registry().mutex);
    auto range = registry().ranges.find(number(address));
    if (range == registry().ranges.end() || range->second.kind != HostKind::Registered) return Status::NotRegistered;
    registry().ranges.erase(range);
    return Status::Ok;
}

HostKind hostKind(const void* address) {
    std::lock_guard<std::mutex> lock(registry().mutex);
    auto range = registry().around(number(address));
    return range == registry().ranges.end() ? HostKind::Pageable : range->second.kind;
}

bool isPinned(const void* address, size_t bytes) {
    std::lock_guard<std::mutex> lock(registry().mutex);
    auto range = registry().around(number(address));
    return range != registry().ranges.end() && bytes <= range->second.bytes - (number(address) - range->first);
}

}  // namespace mock
