// A stream: operations in order, on a thread of its own.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "../base.h"

namespace mock {

class Stream;
class Capture;
using Task = std::function<void()>;

/** A place in a stream's order. It is reached when every operation up to it has ended. */
struct Position {
    Stream* stream = nullptr;
    uint64_t sequence = 0;

    bool reached() const;
    void await() const;
    /** False when the time was over first. */
    bool await(int milliseconds) const;
};

class Stream {
public:
    /** Appends an operation. Blocks while the queue is full, as a device's launch queue does. */
    Position push(Task task);
    /** Blocks while the queue is full. */
    void awaitRoom();
    /** Appends a wait, unless the position is reached already or is this stream's own. */
    void pushWait(Position position);

    Position tail();
    bool isReached(uint64_t sequence) const { return completed_.load(std::memory_order_acquire) >= sequence; }
    void await(uint64_t sequence);
    /** False when the time was over first. */
    bool await(uint64_t sequence, std::chrono::steady_clock::time_point end);

    /** Lets the worker end after what is queued. */
    void close();

    std::atomic<bool> live{false};
    int device = 0;
    bool blocking = true;
    bool legacy = false;
    unsigned flags = 0;
    /** The code, as the front counts, of the first operation that failed while it ran. */
    std::atomic<int> error{0};
    /** What that operation was, or 0. */
    std::atomic<uint64_t> failedAt{0};
    std::atomic<int> failedWith{0};
    /** After an error the rest does not run. */
    std::atomic<bool> stopsOnError{false};
    /** The capture this stream takes part in, and its number there; guarded by the capture lock. */
    std::atomic<Capture*> capture{nullptr};
    int member = 0;
    /** For the implicit order with the legacy stream; guarded by the device's lock. */
    uint64_t seenByLegacy = 0;
    /** Keeps the turns of collectives on this stream in its order. */
    std::mutex turns;
    /** For a front that collects operations before it enqueues them: the thread whose ones are collected, or 0. */
    std::atomic<uintptr_t> collecting{0};

private:
    void work();
    void pause(Random& random);
    void run(Task& task, uint64_t sequence);
    void finish(uint64_t sequence);

    std::mutex mutex_;
    std::condition_variable wake_;
    std::condition_variable space_;
    std::vector<Task> pending_;
    bool started_ = false;
    bool closed_ = false;
    bool asleep_ = false;
    std::atomic<uint64_t> issued_{0};
    std::atomic<uint64_t> completed_{0};

    std::atomic<int> waiters_{0};
    std::mutex doneMutex_;
    std::condition_variable done_;
};

/** True on a thread that is running a user's host function, where no runtime call is allowed. */
extern thread_local bool inHostFunction;

}  // namespace mock
