// The devices of the process, the current device of each thread, and the streams every device has by itself.
#pragma once
#include <atomic>
#include <mutex>
#include <vector>

#include "memory.h"
#include "status.h"
#include "stream.h"

namespace mock {

class Device {
public:
    Device(int index, size_t capacity);

    Stream* createStream(bool blocking, unsigned flags);
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
