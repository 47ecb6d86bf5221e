#include "segment.h"

#include <algorithm>
#include <climits>
#include <cstring>
#include <fcntl.h>
#include <linux/futex.h>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace mock {

namespace {

constexpr uint64_t idMagic = 0x6d6f636b2d636f6dull;

struct Created {
    std::mutex mutex;
    std::map<uint64_t, int> files;
};

Created& created() {
    static auto* one = new Created();
    return *one;
}

long futex(std::atomic<uint32_t>& word, int operation, uint32_t value, const timespec* limit) {
    return syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), operation, value, limit, nullptr, 0);
}

}  // namespace

struct alignas(64) Segment::Head {
    uint64_t nonce;
    std::atomic<uint32_t> size;
    std::atomic<uint32_t> boardLock;
    Post board[64];
};

/** A lock between processes, for a few instructions at a time. */
class SharedLock {
public:
    explicit SharedLock(std::atomic<uint32_t>& word) : word_(word) {
        while (word_.exchange(1) != 0) usleep(20);
    }
    ~SharedLock() { word_ = 0; }

private:
    std::atomic<uint32_t>& word_;
};

size_t Ring::write(const char* bytes, size_t count) {
    uint64_t head = written.load(std::memory_order_relaxed);
    size_t free = room - static_cast<size_t>(head - consumed.load(std::memory_order_acquire));
    count = std::min(count, free);
    size_t at = head % room;
    size_t first = std::min(count, room - at);
    std::memcpy(data + at, bytes, first);
    std::memcpy(data, bytes + first, count - first);
    written.store(head + count, std::memory_order_release);
    return count;
}

size_t Ring::read(char* bytes, size_t count) {
    uint64_t tail = consumed.load(std::memory_order_relaxed);
    count = std::min(count, static_cast<size_t>(written.load(std::memory_order_acquire) - tail));
    size_t at = tail % room;
    size_t first = std::min(count, room - at);
    std::memcpy(bytes, data + at, first);
    std::memcpy(bytes + first, data, count - first);
    consumed.store(tail + count, std::memory_order_release);
    return count;
}

Result Segment::createId(UniqueId* id) {
    static_assert(std::atomic<uint64_t>::is_always_lock_free, "shared between processes");
    std::random_device random;
    uint64_t nonce = (static_cast<uint64_t>(random()) << 32) | random();
    int file = memfd_create("mock-communicator", MFD_CLOEXEC);
    if (file < 0) return Result::System;
    if (pwrite(file, &nonce, sizeof nonce, 0) != sizeof nonce) {
        close(file);
        return Result::System;
    }
    *id = UniqueId{idMagic, nonce, getpid(), file};
    std::lock_guard<std::mutex> lock(created().mutex);
    created().files[nonce] = file;
    return Result::Ok;
}

void Segment::forget(const UniqueId& id) {
    if (id.process != getpid()) return;
    std::lock_guard<std::mutex> lock(created().mutex);
    auto entry = created().files.find(id.nonce);
    if (entry == created().files.end()) return;
    close(entry->second);
    created().files.erase(entry);
}

Result Segment::open(const UniqueId& id, int rank, int size, std::unique_ptr<Segment>* segment) {
    if (id.magic != idMagic) return Result::InvalidArgument;
    std::string path = "/proc/" + std::to_string(id.process) + "/fd/" + std::to_string(id.file);
    int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0) return Result::System;
    auto ranks = static_cast<size_t>(size);
    size_t bytes = sizeof(Head) + ranks * sizeof(Seat) + ranks * ranks * sizeof(Ring);
    void* memory = MAP_FAILED;
    uint64_t nonce = 0;
    // The number behind the path may be another file by now.
    bool same = pread(file, &nonce, sizeof nonce, 0) == sizeof nonce && nonce == id.nonce;
    if (same && lseek(file, 0, SEEK_END) < static_cast<off_t>(bytes))
        same = ftruncate(file, static_cast<off_t>(bytes)) == 0;
    if (same) memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (memory == MAP_FAILED) return Result::System;
    segment->reset(new Segment(memory, bytes, size));
    uint32_t none = 0;
    auto asked = static_cast<uint32_t>(size);
    if (!(*segment)->head_->size.compare_exchange_strong(none, asked) && none != asked) return Result::Internal;
    if ((*segment)->seat(rank).taken.exchange(1) != 0) return Result::Internal;
    return Result::Ok;
}

Segment::Segment(void* memory, size_t bytes, int size) : head_(static_cast<Head*>(memory)), bytes_(bytes), size_(size) {
    seats_ = reinterpret_cast<Seat*>(head_ + 1);
    rings_ = reinterpret_cast<Ring*>(seats_ + size);
}

Segment::~Segment() { munmap(head_, bytes_); }

bool Segment::post(uint64_t key, int readers, const UniqueId& id) {
    SharedLock lock(head_->boardLock);
    Post* room = nullptr;
    for (Post& post : head_->board) {
        if (post.readers > 0 && post.key == key) return false;
        if (post.readers == 0) room = &post;
    }
    if (room == nullptr) return false;
    room->key = key;
    room->id = id;
    room->readers = readers;
    return true;
}

bool Segment::collect(uint64_t key, UniqueId* id) {
    SharedLock lock(head_->boardLock);
    for (Post& post : head_->board) {
        if (post.readers == 0 || post.key != key) continue;
        *id = post.id;
        --post.readers;
        return true;
    }
    return false;
}

void Segment::ringBell(int rank) {
    Seat& target = seat(rank);
    target.bell.fetch_add(1);
    if (target.sleepers.load() != 0) futex(target.bell, FUTEX_WAKE, INT_MAX, nullptr);
}

void Segment::sleep(int rank, uint32_t seen) {
    Seat& own = seat(rank);
    own.sleepers.fetch_add(1);
    timespec limit{0, 1000000};
    futex(own.bell, FUTEX_WAIT, seen, &limit);
    own.sleepers.fetch_sub(1);
}

}  // namespace mock
