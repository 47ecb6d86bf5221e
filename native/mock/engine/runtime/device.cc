#include "device.h"

#include <algorithm>

#include "handles.h"
#include "traits.h"

namespace mock {

namespace {

Handles<Stream>& streams() {
    static auto* all = new Handles<Stream>(size_t(1) << 17, false);
    return *all;
}

// Never destroyed: workers may outlive main().
const std::vector<Device*>& devices() {
    static auto* all = [] {
        auto* list = new std::vector<Device*>();
        size_t capacity = static_cast<size_t>(setting("MOCK_MEMORY_MB", 8192)) << 20;
        int count = static_cast<int>(setting("MOCK_DEVICES", 4));
        for (int i = 0; i < count; ++i) list->push_back(new Device(i, capacity));
        return list;
    }();
    return *all;
}

thread_local int chosen = -1;

}  // namespace

uint64_t Turns::take() {
    std::lock_guard<std::mutex> lock(mutex_);
    open_.insert(++last_);
    return last_;
}

void Turns::await(uint64_t number) {
    std::unique_lock<std::mutex> lock(mutex_);
    passed_.wait(lock, [&] { return *open_.begin() == number; });
}

void Turns::pass(uint64_t number) {
    std::lock_guard<std::mutex> lock(mutex_);
    open_.erase(number);
    passed_.notify_all();
}

Device::Device(int i, size_t capacity) : index(i), memory(i, capacity), legacy(createStream(true, 0)) {
    legacy->legacy = true;
}

Stream* Device::createStream(bool blocking, unsigned flags) {
    Stream* stream = streams().create();
    stream->device = index;
    stream->blocking = blocking;
    stream->flags = flags;
    std::lock_guard<std::mutex> lock(mutex_);
    streams_.push_back(stream);
    return stream;
}

void Device::destroyStream(Stream* stream) {
    if (!streams().destroy(stream)) return;
    {
        std::lock_guard<std::mutex> lock(mutex_);
        streams_.erase(std::remove(streams_.begin(), streams_.end(), stream), streams_.end());
        orphans_.push_back(stream->tail());
    }
    if (stream->blocking) legacy->pushWait(stream->tail());
    stream->close();
}

size_t Device::openStreams() {
    std::lock_guard<std::mutex> lock(mutex_);
    return streams_.size() - 1;
}

void Device::order(Stream& stream) {
    if (!stream.blocking) return;
    if (!stream.legacy) {
        stream.pushWait(legacy->tail());
        return;
    }
    std::vector<Position> waits;
    {
        std::lock_guard<std::mutex> lock(mutex_);
        for (Stream* other : streams_) {
            Position tail = other->tail();
            if (!other->blocking || other == &stream || tail.sequence == other->seenByLegacy) continue;
            other->seenByLegacy = tail.sequence;
            waits.push_back(tail);
        }
    }
    for (const Position& position : waits) stream.pushWait(position);
}

Position Device::issue(Stream& stream, Task task) {
    order(stream);
    return stream.push(std::move(task));
}

std::vector<Position> Device::tails() {
    std::lock_guard<std::mutex> lock(mutex_);
    orphans_.erase(std::remove_if(orphans_.begin(), orphans_.end(), [](const Position& p) { return p.reached(); }),
                   orphans_.end());
    std::vector<Position> result = orphans_;
    for (Stream* stream : streams_) result.push_back(stream->tail());
    return result;
}

int deviceCount() { return static_cast<int>(devices().size()); }

Device& device(int index) { return *devices()[static_cast<size_t>(index)]; }

Device* deviceOf(const void* address) {
    for (Device* candidate : devices()) {
        if (candidate->memory.contains(address)) return candidate;
    }
    return nullptr;
}

int currentDevice() { return chosen >= 0 ? chosen : traits.initialDevice; }

Status setCurrentDevice(int index) {
    if (index < 0 || index >= deviceCount()) return Status::InvalidDevice;
    chosen = index;
    return Status::Ok;
}

Stream* findStream(const void* handle) {
    if (handle != nullptr) return streams().find(handle);
    return deviceCount() == 0 || currentDevice() < 0 ? nullptr : device(currentDevice()).legacy;
}

}  // namespace mock
