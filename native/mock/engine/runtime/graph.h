// Stream capture and replay. A capture is a graph of operations: each stream in it has a set of nodes that its next
// operation comes after. A launch issues every node again on real streams, with a stream for each path, so that a
// replay has the same concurrency, delays and traps as eager work.
#pragma once
#include <atomic>
#include <deque>
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

struct Node {
    /** What runs; of a node that records an event or waits for one, nothing. */
    Task task;
    std::shared_ptr<Order> order;
    /** Handle of the event, whose record at the time of the launch is meant. */
    const void* event = nullptr;
    bool records = false;
    /** The nodes that end before this one starts. */
    std::vector<Node*> after;
    /** The streams of the capture must not leave it behind. */
    bool joins = true;
    /** The replay's stream. */
    int lane = 0;
    size_t index = 0;
};

/** A place inside a capture: after these nodes. */
struct Mark {
    uint64_t capture = 0;
    std::vector<Node*> after;
};

struct Recording {
    int lanes = 0;
    /** Each one comes after all that it waits for. */
    std::deque<Node> nodes;
    /** Kept until the last graph, executable and run of this recording is gone. */
    std::vector<std::shared_ptr<void>> objects;
    bool complete = false;

    Node* add(std::vector<Node*> after);
    /** Gives each node a lane: the one of a node it comes directly after, if no other has it. */
    void assignLanes();
};

struct Graph {
    std::atomic<bool> live{false};
    std::shared_ptr<Recording> recording;
};

struct Executable {
    std::atomic<bool> live{false};
    std::shared_ptr<const Recording> recording;
    std::vector<Stream*> lanes;
};

/** A caller's object with its destructor, until a graph takes it. */
struct UserObject {
    std::atomic<bool> live{false};
    std::shared_ptr<void> object;
};

class Capture {
public:
    Capture(Stream& origin, CaptureMode mode);

    const uint64_t id;
    const CaptureMode mode;
    const std::thread::id owner;
    Stream& origin;
    Graph* const graph;
    bool valid = true;

    void add(Stream& stream, Task task, std::shared_ptr<Order> order);
    /** The stream's next operation comes after the event's record at the time of the launch, wherever that is. */
    void waitOutside(Stream& stream, const void* event);
    Mark mark(const Stream& stream) const;
    /** The stream waits for a place in this capture, and joins it if it was outside. */
    void wait(Stream& stream, const Mark& mark);
    /** What the stream's next operation comes after. */
    const std::vector<Node*>& next(const Stream& stream) const;
    /** Sets that. The nodes which it had need not be joined any more. */
    void setNext(Stream& stream, std::vector<Node*> nodes);
    bool joined() const;
    /** Takes all streams out of the capture. */
    void finish();

private:
    struct Member {
        Stream* stream;
        std::vector<Node*> next;
    };
    Member& member(const Stream& stream);
    void join(Stream& stream);
    Node* append(Stream& stream);

    std::vector<Member> members_;
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
/** The running capture whose graph this will be, or null; call with the capture lock held. */
Capture* findCapture(const Graph& graph);
Status beginCapture(Stream& stream, CaptureMode mode);
Status endCapture(Stream& stream, Graph** graph);
/** 0 none, 1 active, 2 broken. */
int captureState(const Stream& stream);

struct CaptureInfo {
    /** As `captureState` answers; the rest is set only for 1. */
    int state = 0;
    uint64_t id = 0;
    Graph* graph = nullptr;
    /** Valid until the next operation of the stream. */
    Node* const* next = nullptr;
    size_t count = 0;
};
CaptureInfo captureInfo(const Stream& stream);
/** Replaces what the next captured operation of a stream comes after, or adds to it. */
Status updateCapture(Stream& stream, Node* const* nodes, size_t count, bool replace);
/** A node by hand, in a graph that is being captured. Nothing has to join it. */
Status addEventRecord(Graph& graph, Node* const* after, size_t count, const void* event, Node** made);
Status addDependencies(Graph& graph, Node* const* from, Node* const* to, size_t count);

UserObject* createUserObject(void* argument, void (*destroy)(void*));
UserObject* findUserObject(const void* handle);
/** The graph takes the only reference. */
void moveUserObject(Graph& graph, UserObject* object);

Graph* findGraph(const void* handle);
Executable* findExecutable(const void* handle);
void destroyGraph(Graph* graph);
Executable* instantiate(const Graph& graph);
void destroyExecutable(Executable* executable);
void launch(Executable& executable, Stream& stream);

}  // namespace mock
