// The memory all ranks of a communicator share. It is an anonymous file that its creator's process keeps open
// until every rank has mapped it, and that the others open through /proc: nothing has a name, so nothing can be
// left behind by a crash. As with the real libraries, the process that made the id has to live until all are in.
#pragma once
#include <atomic>
#include <memory>

#include "types.h"

namespace mock {

struct UniqueId {
    uint64_t magic;
    uint64_t nonce;
    int32_t process;
    int32_t file;
};

/** One direction between two ranks. Head and tail only grow. */
struct Ring {
    static constexpr size_t room = 64 * 1024;
    alignas(64) std::atomic<uint64_t> written;
    alignas(64) std::atomic<uint64_t> consumed;
    /** Whether either end is linked up. */
    std::atomic<uint32_t> sends;
    std::atomic<uint32_t> receives;
    alignas(64) char data[room];

    size_t write(const char* bytes, size_t count);
    size_t read(char* bytes, size_t count);
};

/** Where a rank says what it wants of a split; two, used in turn, so that the slowest reader is never overtaken. */
struct Notice {
    std::atomic<uint64_t> sequence;
    int32_t color;
    int32_t key;
    std::atomic<uint64_t> idSequence;
    UniqueId id;
};

/** Where a member of a subset leaves the id of the subset's communicator for the others. */
struct Post {
    uint64_t key;
    int32_t readers;
    UniqueId id;
};

struct alignas(64) Seat {
    std::atomic<uint32_t> taken;
    std::atomic<uint32_t> ready;
    std::atomic<uint32_t> linked;
    int32_t process;
    int32_t device;
    int32_t version;
    uint64_t host;
    alignas(64) std::atomic<uint32_t> bell;
    std::atomic<uint32_t> sleepers;
    Notice notices[2];
};

class Segment {
public:
    static Result createId(UniqueId* id);
    /** Maps the memory behind an id and takes this rank's seat. */
    static Result open(const UniqueId& id, int rank, int size, std::unique_ptr<Segment>* segment);
    ~Segment();

    Seat& seat(int rank) { return seats_[rank]; }
    Ring& ring(int from, int to) {
        return rings_[static_cast<size_t>(from) * static_cast<size_t>(size_) + static_cast<size_t>(to)];
    }

    /** False when there is no room now, or the same key is still being read. */
    bool post(uint64_t key, int readers, const UniqueId& id);
    /** False when nothing is posted under the key. */
    bool collect(uint64_t key, UniqueId* id);

    /** Lets this process's copy of the id go; call when every rank is ready. */
    static void forget(const UniqueId& id);

    /** Wakes a rank that sleeps in sleep(). */
    void ringBell(int rank);
    /** Sleeps until the bell differs from what was seen, or a millisecond has passed. */
    void sleep(int rank, uint32_t seen);

private:
    struct Head;
    Segment(void* memory, size_t bytes, int size);

    Head* head_;
    size_t bytes_;
    int size_;
    Seat* seats_;
    Ring* rings_;
};

}  // namespace mock
