// The devices of the process, the current device of each thread, and the streams every device has by itself.
#pragma once
#include <atomic>
#include <mutex>
#include <vector>

#include "memory.h"
#include "status.h"
#include "stream.h"

namespace mock {

/** What the two reserved stream handles of a front stand for; others are pointers to streams. */
constexpr uintptr_t legacyHandle = 1;
constexpr uintptr_t perThreadHandle = 2;

class Device {
public:
    Device(int index, size_t capacity);

    Stream* createStream(bool blocking, unsigned flags, int priority);
    void destroyStream(Stream* stream);

    /** Appends an operation with the implicit order between the legacy stream and blocking streams. */
    Position issue(Stream& stream, Task task);
    /** The tails of all streams: reached when the device is idle. */
    std::vector<Position> tails();

private:
    void order(Stream& stream);

    std::mutex mutex_;
    std::vector<Stream*> streams_;
    /** Work of destroyed streams that may still run. */
    std::vector<Position> orphans_;

public:
    const int index;
    DeviceMemory memory;
    /** How many objects of a communication library live here. */
    std::atomic<int> users{0};
    Stream* const legacy;
};

int deviceCount();
Device& device(int index);
/** The device whose window holds an address, or null. */
Device* deviceOf(const void* address);

/** -1 when the thread has to choose one and has not. */
int currentDevice();
Status setCurrentDevice(int index);
void forgetCurrentDevice();

/** Null for a handle that is no live stream. */
Stream* findStream(const void* handle);

}  // namespace mock
