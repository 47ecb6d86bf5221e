#include "graph.h"

#include <algorithm>

#include "device.h"
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

std::atomic<uint64_t> captures{0};
std::atomic<int> activeCount{0};
thread_local CaptureMode threadMode = CaptureMode::Global;

std::vector<Capture*>& active() {
    static auto* all = new std::vector<Capture*>();
    return *all;
}

}  // namespace

std::mutex& captureLock() {
    static auto* lock = new std::mutex();
    return *lock;
}

Capture::Capture(Stream& first, CaptureMode m)
    : id(++captures), mode(m), owner(std::this_thread::get_id()), origin(first) {
    join(first);
}

int Capture::join(Stream& stream) {
    Lane lane;
    lane.stream = &stream;
    lane.after.resize(lanes_.size() + 1);
    for (Lane& other : lanes_) other.after.push_back(0);
    stream.lane = static_cast<int>(lanes_.size());
    stream.capture = this;
    lanes_.push_back(lane);
    return stream.lane;
}

void Capture::add(Stream& stream, Task task, std::shared_ptr<Order> order) {
    Lane& lane = lanes_[static_cast<size_t>(stream.lane)];
    Node node;
    node.task = std::move(task);
    node.order = std::move(order);
    node.lane = stream.lane;
    node.waits.swap(lane.waits);
    recording_->nodes.push_back(std::move(node));
    lane.after[static_cast<size_t>(stream.lane)] = ++lane.count;
}

Mark Capture::mark(const Stream& stream) const {
    return {id, stream.lane, lanes_[static_cast<size_t>(stream.lane)].count};
}

void Capture::wait(Stream& stream, const Mark& mark) {
    if (stream.capture != this) join(stream);
    if (mark.lane == stream.lane) return;
    Lane& lane = lanes_[static_cast<size_t>(stream.lane)];
    lane.waits.push_back(mark);
    // Marks carry no history of their own; what the other lane had waited for by now is a safe stand-in only for
    // the check that all lanes are joined, never for the waits a replay makes.
    const Lane& other = lanes_[static_cast<size_t>(mark.lane)];
    for (size_t i = 0; i < lane.after.size(); ++i) {
        size_t seen = static_cast<int>(i) == mark.lane ? mark.count : other.after[i];
        lane.after[i] = std::max(lane.after[i], seen);
    }
}

bool Capture::joined() const {
    const Lane& first = lanes_[0];
    for (size_t i = 1; i < lanes_.size(); ++i) {
        if (first.after[i] < lanes_[i].count) return false;
    }
    // A stream that joined and did nothing must still have been waited for.
    return true;
}

std::shared_ptr<Recording> Capture::finish() {
    for (Lane& lane : lanes_) lane.stream->capture = nullptr;
    recording_->lanes = static_cast<int>(lanes_.size());
    return std::move(recording_);
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
    std::shared_ptr<const Recording> recording;
    {
        std::lock_guard<std::mutex> lock(captureLock());
        Capture* capture = stream.capture;
        if (capture == nullptr) return Status::InvalidValue;
        if (&capture->origin != &stream) return Status::CaptureUnmatched;
        if (capture->mode != CaptureMode::Relaxed && capture->owner != std::this_thread::get_id()) {
            return Status::CaptureWrongThread;
        }
        Status result = !capture->valid      ? Status::CaptureInvalidated
                        : !capture->joined() ? Status::CaptureUnjoined
                                             : Status::Ok;
        recording = capture->finish();
        active().erase(std::remove(active().begin(), active().end(), capture), active().end());
        --activeCount;
        delete capture;
        if (result != Status::Ok) return result;
    }
    *graph = createGraph(std::move(recording));
    return Status::Ok;
}

int captureState(const Stream& stream) {
    if (stream.capture.load() == nullptr) return 0;
    std::lock_guard<std::mutex> lock(captureLock());
    Capture* capture = stream.capture;
    if (capture == nullptr) return 0;
    return capture->valid ? 1 : 2;
}

Graph* findGraph(const void* handle) { return graphs().find(handle); }

Executable* findExecutable(const void* handle) { return executables().find(handle); }

Graph* createGraph(std::shared_ptr<const Recording> recording) {
    Graph* graph = graphs().create();
    graph->recording = std::move(recording);
    return graph;
}

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

void launch(Executable& executable, Stream& stream) {
    std::shared_ptr<const Recording> recording = executable.recording;
    Device& home = device(stream.device);
    while (executable.lanes.size() < static_cast<size_t>(recording->lanes)) {
        executable.lanes.push_back(home.createStream(false, 0));
    }
    Position start = home.issue(stream, [] {});
    std::vector<std::vector<Position>> issued(executable.lanes.size());
    for (Stream* lane : executable.lanes) lane->pushWait(start);
    for (size_t i = 0; i < recording->nodes.size(); ++i) {
        const Node& node = recording->nodes[i];
        auto index = static_cast<size_t>(node.lane);
        Stream& lane = *executable.lanes[index];
        for (const Mark& mark : node.waits) {
            if (mark.count > 0) lane.pushWait(issued[static_cast<size_t>(mark.lane)][mark.count - 1]);
        }
        // Holding the recording keeps the operations alive when the graph is destroyed while it runs.
        issued[index].push_back(issueOrdered(lane, [recording, i] { recording->nodes[i].task(); }, node.order.get()));
    }
    for (Stream* lane : executable.lanes) stream.pushWait(lane->tail());
}

}  // namespace mock
