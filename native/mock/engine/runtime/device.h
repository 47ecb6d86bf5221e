// The devices of the process, the current device of each thread, and the streams every device has by itself.
#pragma once
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <set>
#include <vector>

#include "memory.h"
#include "status.h"
#include "stream.h"

namespace mock {

/** With MOCK_ONE_COLLECTIVE a device runs one collective at a time, in the order in which they were issued. */
class Turns {
public:
    /** Of one collective, from when it is issued until it has run or was dropped. */
    class Turn {
    public:
        explicit Turn(Turns& turns) : turns_(turns), number_(turns.take()) {}
        ~Turn() { turns_.pass(number_); }
        void await() { turns_.await(number_); }

    private:
        Turns& turns_;
        const uint64_t number_;
    };

private:
    uint64_t take();
    void await(uint64_t number);
    void pass(uint64_t number);

    std::mutex mutex_;
    std::condition_variable passed_;
    uint64_t last_ = 0;
    std::set<uint64_t> open_;
};

class Device {
public:
    Device(int index, size_t capacity);

    Stream* createStream(bool blocking, unsigned flags);
    void destroyStream(Stream* stream);
    /** Those that were created and not destroyed. */
    size_t openStreams();

    /** Appends an operation with the implicit order between the legacy stream and blocking streams. */
    Position issue(Stream& stream, Task task);
    /** The tails of all streams: reached when the device is idle. */
    std::vector<Position> tails();
    /** Appends the waits of that order alone. */
    void order(Stream& stream);

private:
    std::mutex mutex_;
    std::vector<Stream*> streams_;
    /** Work of destroyed streams that may still run. */
    std::vector<Position> orphans_;

public:
    const int index;
    DeviceMemory memory;
    Turns turns;
    /** The code of what failed on it, if that is for good. */
    std::atomic<int> broken{0};
    Stream* const legacy;
};

int deviceCount();
Device& device(int index);
/** The device whose window holds an address, or null. */
Device* deviceOf(const void* address);

/** -1 when the thread has to choose one and has not. */
int currentDevice();
Status setCurrentDevice(int index);

/** The live stream behind a handle, null being the device's own; null for anything else. */
Stream* findStream(const void* handle);

}  // namespace mock
