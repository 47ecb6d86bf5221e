#include "shared.h"

#include <fcntl.h>
#include <map>
#include <mutex>
#include <string>
#include <sys/mman.h>

#include "device.h"

namespace mock {

namespace {

constexpr uint64_t mark = 0x6d6f636b69706331;

struct Import {
    size_t bytes;
    char* view;
    /** The mappings begin at a page, so before the block. */
    size_t before;
};

std::mutex mutex;
/** By the first address. */
std::map<uintptr_t, Import>& imports() {
    static auto* all = new std::map<uintptr_t, Import>;
    return *all;
}

std::map<uintptr_t, Import>::iterator find(const void* address) {
    auto place = reinterpret_cast<uintptr_t>(address);
    auto next = imports().upper_bound(place);
    if (next == imports().begin()) return imports().end();
    --next;
    return place < next->first + next->second.bytes ? next : imports().end();
}

}  // namespace

Status exportBlock(const void* address, SharedBlock* block) {
    Device* owner = deviceOf(address);
    if (owner == nullptr) return Status::InvalidValue;
    DeviceMemory::Block live = owner->memory.blockAt(address);
    if (live.address == nullptr) return Status::InvalidValue;
    *block = {mark, getpid(), owner->memory.file(), live.offset, live.bytes};
    return Status::Ok;
}

Status importBlock(const SharedBlock& block, void** address) {
    // The exporter cannot open its own memory.
    if (block.mark != mark || block.process == getpid()) return Status::InvalidValue;
    std::string path = "/proc/" + std::to_string(block.process) + "/fd/" + std::to_string(block.file);
    int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0) return Status::InvalidValue;
    size_t before = block.offset % static_cast<size_t>(sysconf(_SC_PAGESIZE));
    size_t bytes = before + block.bytes;
    auto offset = static_cast<off_t>(block.offset - before);
    void* view = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, offset);
    void* window = mmap(nullptr, bytes, PROT_NONE, MAP_SHARED, file, offset);
    close(file);
    if (view == MAP_FAILED || window == MAP_FAILED) fatal("cannot map device memory of process %d", block.process);
    *address = static_cast<char*>(window) + before;
    std::lock_guard<std::mutex> lock(mutex);
    imports()[reinterpret_cast<uintptr_t>(*address)] = {block.bytes, static_cast<char*>(view) + before, before};
    return Status::Ok;
}

Status closeImport(void* address) {
    std::lock_guard<std::mutex> lock(mutex);
    auto import = imports().find(reinterpret_cast<uintptr_t>(address));
    if (import == imports().end()) return Status::InvalidValue;
    const Import& mapped = import->second;
    munmap(mapped.view - mapped.before, mapped.bytes + mapped.before);
    munmap(static_cast<char*>(address) - mapped.before, mapped.bytes + mapped.before);
    imports().erase(import);
    return Status::Ok;
}

bool isImported(const void* address) {
    std::lock_guard<std::mutex> lock(mutex);
    return find(address) != imports().end();
}

char* importedView(const void* address, size_t bytes) {
    std::lock_guard<std::mutex> lock(mutex);
    auto import = find(address);
    if (import == imports().end()) return nullptr;
    size_t offset = reinterpret_cast<uintptr_t>(address) - import->first;
    return bytes <= import->second.bytes - offset ? import->second.view + offset : nullptr;
}

}  // namespace mock
