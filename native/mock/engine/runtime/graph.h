// Stream capture and replay. A captured operation is kept with its lane (the stream it was captured from) and
// what it waits for; a launch issues every operation again on real streams, one for each lane, so that a replay
// has the same concurrency, delays and traps as eager work.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "status.h"
#include "stream.h"

namespace mock {

enum class CaptureMode : int { Global = 0, ThreadLocal = 1, Relaxed = 2 };

/** Keeps operations that share it in issue order across streams (a communicator has one). */
struct Order {
    std::mutex mutex;
    Position last;
};

/** A place inside a capture: after the first `count` operations of a lane. */
struct Mark {
    uint64_t capture = 0;
    int lane = 0;
    size_t count = 0;
};

struct Node {
    Task task;
    std::shared_ptr<Order> order;
    int lane = 0;
    std::vector<Mark> waits;
};

struct Recording {
    int lanes = 0;
    std::vector<Node> nodes;
};

struct Graph {
    std::atomic<bool> live{false};
    std::shared_ptr<const Recording> recording;
};

struct Executable {
    std::atomic<bool> live{false};
    std::shared_ptr<const Recording> recording;
    std::vector<Stream*> lanes;
};

class Capture {
public:
    Capture(Stream& origin, CaptureMode mode);

    const uint64_t id;
    const CaptureMode mode;
    const std::thread::id owner;
    Stream& origin;
    bool valid = true;

    void add(Stream& stream, Task task, std::shared_ptr<Order> order);
    Mark mark(const Stream& stream) const;
    /** The stream waits for a place in this capture, and joins it if it was outside. */
    void wait(Stream& stream, const Mark& mark);
    bool joined() const;
    /** Takes all streams out of the capture. */
    std::shared_ptr<Recording> finish();

private:
    struct Lane {
        Stream* stream;
        size_t count = 0;
        std::vector<Mark> waits;
        /** How many operations of each lane come before whatever this lane does next. */
        std::vector<size_t> after;
    };
    int join(Stream& stream);

    std::vector<Lane> lanes_;
    std::shared_ptr<Recording> recording_ = std::make_shared<Recording>();
};

/** Guards every capture's state. */
std::mutex& captureLock();
/** Fails, and breaks the captures concerned, when this thread may not make a call that could disturb a capture. */
Status unsafeCall();
CaptureMode exchangeThreadMode(CaptureMode mode);
/** Whether a blocking stream of the device is captured, so that the legacy stream may not be used. */
bool capturesBlocking(int device);

/** The running capture with this number, or null; call with the capture lock held. */
Capture* findCapture(uint64_t id);
Status beginCapture(Stream& stream, CaptureMode mode);
Status endCapture(Stream& stream, Graph** graph);
/** 0 none, 1 active, 2 broken. */
int captureState(const Stream& stream);

Graph* findGraph(const void* handle);
Executable* findExecutable(const void* handle);
Graph* createGraph(std::shared_ptr<const Recording> recording);
void destroyGraph(Graph* graph);
Executable* instantiate(const Graph& graph);
void destroyExecutable(Executable* executable);
void launch(Executable& executable, Stream& stream);

}  // namespace mock
