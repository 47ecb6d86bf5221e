#include "graph.h"

#include <algorithm>
#include <set>

#include "device.h"
#include "event.h"
#include "handles.h"
#include "runtime.h"

namespace mock {

namespace {

Handles<Graph>& graphs() {
    static auto* all = new Handles<Graph>(size_t(1) << 16, true);
    return *all;
}

Handles<Executable>& executables() {
    static auto* all = new Handles<Executable>(size_t(1) << 16, true);
    return *all;
}

Handles<UserObject>& userObjects() {
    static auto* all = new Handles<UserObject>(size_t(1) << 16, true);
    return *all;
}

std::atomic<uint64_t> captures{0};
std::atomic<int> activeCount{0};
thread_local CaptureMode threadMode = CaptureMode::Global;

std::vector<Capture*>& active() {
    static auto* all = new std::vector<Capture*>();
    return *all;
}

Graph* createGraph() {
    Graph* graph = graphs().create();
    graph->recording = std::make_shared<Recording>();
    return graph;
}

void include(std::vector<Node*>& set, Node* const* nodes, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        if (std::find(set.begin(), set.end(), nodes[i]) == set.end()) set.push_back(nodes[i]);
    }
}

/** Whether all are nodes of this recording. */
bool has(const Recording& recording, Node* const* nodes, size_t count) {
    return std::all_of(nodes, nodes + count, [&](Node* node) {
        return std::any_of(recording.nodes.rbegin(), recording.nodes.rend(),
                           [&](const Node& candidate) { return &candidate == node; });
    });
}

}  // namespace

std::mutex& captureLock() {
    static auto* lock = new std::mutex();
    return *lock;
}

Node* Recording::add(std::vector<Node*> after) {
    nodes.emplace_back();
    Node* node = &nodes.back();
    node->index = nodes.size() - 1;
    node->after = std::move(after);
    return node;
}

void Recording::assignLanes() {
    std::vector<const Node*> last;
    for (Node& node : nodes) {
        auto free = std::find_if(node.after.begin(), node.after.end(), [&](const Node* before) {
            return last[static_cast<size_t>(before->lane)] == before;
        });
        node.lane = free != node.after.end() ? (*free)->lane : static_cast<int>(last.size());
        if (free == node.after.end()) last.push_back(nullptr);
        last[static_cast<size_t>(node.lane)] = &node;
    }
    lanes = static_cast<int>(last.size());
}

Capture::Capture(Stream& first, CaptureMode m)
    : id(++captures), mode(m), owner(std::this_thread::get_id()), origin(first), graph(createGraph()) {
    join(first);
}

Capture::Member& Capture::member(const Stream& stream) { return members_[static_cast<size_t>(stream.member)]; }

const std::vector<Node*>& Capture::next(const Stream& stream) const {
    return members_[static_cast<size_t>(stream.member)].next;
}

void Capture::join(Stream& stream) {
    stream.member = static_cast<int>(members_.size());
    stream.capture = this;
    members_.push_back({&stream, {}});
}

Node* Capture::append(Stream& stream) {
    std::vector<Node*>& next = member(stream).next;
    Node* node = graph->recording->add(std::move(next));
    next = {node};
    return node;
}

void Capture::add(Stream& stream, Task task, std::shared_ptr<Order> order) {
    Node* node = append(stream);
    node->task = std::move(task);
    node->order = std::move(order);
}

void Capture::waitOutside(Stream& stream, const void* event) { append(stream)->event = event; }

Mark Capture::mark(const Stream& stream) const { return {id, next(stream)}; }

void Capture::wait(Stream& stream, const Mark& mark) {
    if (stream.capture != this) join(stream);
    include(member(stream).next, mark.after.data(), mark.after.size());
}

void Capture::setNext(Stream& stream, std::vector<Node*> nodes) {
    for (Node* node : next(stream)) node->joins = false;
    member(stream).next = std::move(nodes);
}

bool Capture::joined() const {
    std::set<const Node*> reached;
    std::vector<const Node*> open(members_[0].next.begin(), members_[0].next.end());
    while (!open.empty()) {
        const Node* node = open.back();
        open.pop_back();
        if (reached.insert(node).second) open.insert(open.end(), node->after.begin(), node->after.end());
    }
    // A stream that joined and did nothing waits for nodes of others, which are looked at there.
    for (const Member& member : members_) {
        for (const Node* node : member.next) {
            if (node->joins && reached.count(node) == 0) return false;
        }
    }
    return true;
}

void Capture::finish() {
    for (Member& member : members_) member.stream->capture = nullptr;
    graph->recording->assignLanes();
    graph->recording->complete = true;
}

Status unsafeCall() {
    if (activeCount.load() == 0 || threadMode == CaptureMode::Relaxed) return Status::Ok;
    std::lock_guard<std::mutex> lock(captureLock());
    Status result = Status::Ok;
    for (Capture* capture : active()) {
        bool own = capture->owner == std::this_thread::get_id() && capture->mode != CaptureMode::Relaxed;
        bool global = threadMode == CaptureMode::Global && capture->mode == CaptureMode::Global;
        if (!own && !global) continue;
        capture->valid = false;
        result = Status::CaptureUnsupported;
    }
    return result;
}

CaptureMode exchangeThreadMode(CaptureMode mode) { return std::exchange(threadMode, mode); }

bool capturesBlocking(int index) {
    if (activeCount.load() == 0) return false;
    std::lock_guard<std::mutex> lock(captureLock());
    for (Capture* capture : active()) {
        if (capture->origin.blocking && capture->origin.device == index) return true;
    }
    return false;
}

Capture* findCapture(uint64_t id) {
    for (Capture* capture : active()) {
        if (capture->id == id) return capture;
    }
    return nullptr;
}

Capture* findCapture(const Graph& graph) {
    for (Capture* capture : active()) {
        if (capture->graph == &graph) return capture;
    }
    return nullptr;
}

Status beginCapture(Stream& stream, CaptureMode mode) {
    if (stream.legacy) return Status::CaptureUnsupported;
    std::lock_guard<std::mutex> lock(captureLock());
    if (stream.capture != nullptr) return Status::InvalidValue;
    active().push_back(new Capture(stream, mode));
    ++activeCount;
    return Status::Ok;
}

Status endCapture(Stream& stream, Graph** graph) {
    *graph = nullptr;
    Graph* made;
    Status result;
    {
        std::lock_guard<std::mutex> lock(captureLock());
        Capture* capture = stream.capture;
        if (capture == nullptr) return Status::InvalidValue;
        if (&capture->origin != &stream) return Status::CaptureUnmatched;
        if (capture->mode != CaptureMode::Relaxed && capture->owner != std::this_thread::get_id()) {
            return Status::CaptureWrongThread;
        }
        result = !capture->valid      ? Status::CaptureInvalidated
                 : !capture->joined() ? Status::CaptureUnjoined
                                      : Status::Ok;
        capture->finish();
        made = capture->graph;
        active().erase(std::remove(active().begin(), active().end(), capture), active().end());
        --activeCount;
        delete capture;
    }
    if (result == Status::Ok) {
        *graph = made;
    } else {
        destroyGraph(made);
    }
    return result;
}

int captureState(const Stream& stream) {
    if (stream.capture.load() == nullptr) return 0;
    std::lock_guard<std::mutex> lock(captureLock());
    Capture* capture = stream.capture;
    if (capture == nullptr) return 0;
    return capture->valid ? 1 : 2;
}

CaptureInfo captureInfo(const Stream& stream) {
    CaptureInfo info;
    if (stream.capture.load() == nullptr) return info;
    std::lock_guard<std::mutex> lock(captureLock());
    Capture* capture = stream.capture;
    if (capture == nullptr) return info;
    info.state = capture->valid ? 1 : 2;
    if (!capture->valid) return info;
    info.id = capture->id;
    info.graph = capture->graph;
    info.next = capture->next(stream).data();
    info.count = capture->next(stream).size();
    return info;
}

Status updateCapture(Stream& stream, Node* const* nodes, size_t count, bool replace) {
    std::lock_guard<std::mutex> lock(captureLock());
    Capture* capture = stream.capture;
    if (capture == nullptr) return Status::InvalidValue;
    if (!capture->valid) return Status::CaptureInvalidated;
    if (!has(*capture->graph->recording, nodes, count)) return Status::InvalidValue;
    if (replace) {
        capture->setNext(stream, std::vector<Node*>(nodes, nodes + count));
    } else {
        capture->wait(stream, {capture->id, std::vector<Node*>(nodes, nodes + count)});
    }
    return Status::Ok;
}

Status addEventRecord(Graph& graph, Node* const* after, size_t count, const void* event, Node** made) {
    std::lock_guard<std::mutex> lock(captureLock());
    if (findCapture(graph) == nullptr) fatal("a node was added to a graph that is not being captured: not mocked");
    if (!has(*graph.recording, after, count)) return Status::InvalidValue;
    Node* node = graph.recording->add(std::vector<Node*>(after, after + count));
    node->event = event;
    node->records = true;
    node->joins = false;
    *made = node;
    return Status::Ok;
}

Status addDependencies(Graph& graph, Node* const* from, Node* const* to, size_t count) {
    std::lock_guard<std::mutex> lock(captureLock());
    if (!has(*graph.recording, from, count) || !has(*graph.recording, to, count)) return Status::InvalidValue;
    if (findCapture(graph) == nullptr) fatal("a complete graph was changed: not mocked");
    for (size_t i = 0; i < count; ++i) {
        if (from[i]->index >= to[i]->index) fatal("a node was made to wait for a later one: not mocked");
        include(to[i]->after, from + i, 1);
    }
    return Status::Ok;
}

UserObject* createUserObject(void* argument, void (*destroy)(void*)) {
    UserObject* object = userObjects().create();
    object->object = std::shared_ptr<void>(argument, [destroy](void* last) {
        // As a host function, it must not call the runtime.
        bool before = std::exchange(inHostFunction, true);
        destroy(last);
        inHostFunction = before;
    });
    return object;
}

UserObject* findUserObject(const void* handle) { return userObjects().find(handle); }

void moveUserObject(Graph& graph, UserObject* object) {
    std::lock_guard<std::mutex> lock(captureLock());
    graph.recording->objects.push_back(std::move(object->object));
    userObjects().destroy(object);
}

Graph* findGraph(const void* handle) { return graphs().find(handle); }

Executable* findExecutable(const void* handle) { return executables().find(handle); }

void destroyGraph(Graph* graph) {
    graph->recording.reset();
    graphs().destroy(graph);
}

Executable* instantiate(const Graph& graph) {
    Executable* executable = executables().create();
    executable->recording = graph.recording;
    return executable;
}

void destroyExecutable(Executable* executable) {
    for (Stream* lane : executable->lanes) device(lane->device).destroyStream(lane);
    executable->lanes.clear();
    executable->recording.reset();
    executables().destroy(executable);
}

namespace {

/** Holding the recording keeps the operations alive when the graph is destroyed while it runs. */
Position issue(const std::shared_ptr<const Recording>& recording, const Node& node, Stream& lane) {
    if (node.event == nullptr) {
        return issueOrdered(lane, [recording, &node] { node.task(); }, node.order.get());
    }
    Event* event = findEvent(node.event);
    if (event == nullptr) fatal("a graph was launched after an event of it was destroyed");
    if (!node.records) {
        lane.pushWait(event->place());
    } else if (event->record(lane) != Status::Ok) {
        fatal("a graph cannot record its event on device %d", lane.device);
    }
    return lane.tail();
}

}  // namespace

void launch(Executable& executable, Stream& stream) {
    std::shared_ptr<const Recording> recording = executable.recording;
    Device& home = device(stream.device);
    while (executable.lanes.size() < static_cast<size_t>(recording->lanes)) {
        executable.lanes.push_back(home.createStream(false, 0));
    }
    Position start = home.issue(stream, [] {});
    std::vector<Position> issued(recording->nodes.size());
    for (Stream* lane : executable.lanes) lane->pushWait(start);
    for (const Node& node : recording->nodes) {
        Stream& lane = *executable.lanes[static_cast<size_t>(node.lane)];
        for (const Node* before : node.after) lane.pushWait(issued[before->index]);
        issued[node.index] = issue(recording, node, lane);
    }
    for (Stream* lane : executable.lanes) stream.pushWait(lane->tail());
}

}  // namespace mock
