// Stream capture and graphs.
#include "../../engine/runtime/event.h"
#include "guard.h"

using namespace mock;
using namespace mock::cuda;

namespace {

template <class Body>
cudaError_t onGraph(cudaGraph_t handle, Body body) {
    return guarded([&] {
        Graph* graph = findGraph(handle);
        return graph == nullptr ? Status::InvalidValue : body(*graph);
    });
}

template <class Body>
cudaError_t onExecutable(cudaGraphExec_t handle, Body body) {
    return guarded([&] {
        Executable* executable = findExecutable(handle);
        return executable == nullptr ? Status::InvalidValue : body(*executable);
    });
}

Node* const* nodesOf(const cudaGraphNode_t* handles) { return reinterpret_cast<Node* const*>(handles); }

bool isMode(cudaStreamCaptureMode mode) { return static_cast<unsigned>(mode) <= 2; }

}  // namespace

MOCK_API cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
    return onStream(handle, [&](Stream& stream) {
        if (!isMode(mode)) return Status::InvalidValue;
        return beginCapture(stream, static_cast<CaptureMode>(static_cast<int>(mode)));
    });
}

MOCK_API cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
    return onStream(handle, [&](Stream& stream) {
        if (graph == nullptr) return Status::InvalidValue;
        Graph* made = nullptr;
        Status status = endCapture(stream, &made);
        *graph = reinterpret_cast<cudaGraph_t>(made);
        return status;
    });
}

MOCK_API cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
    return onStream(handle, [&](Stream& stream) {
        if (status == nullptr) return Status::InvalidValue;
        if (stream.legacy && capturesBlocking(stream.device)) return Status::CaptureImplicit;
        *status = static_cast<cudaStreamCaptureStatus>(captureState(stream));
        return Status::Ok;
    });
}

MOCK_API cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
    if (mode == nullptr || !isMode(*mode)) return remember(cudaErrorInvalidValue);
    CaptureMode old = exchangeThreadMode(static_cast<CaptureMode>(static_cast<int>(*mode)));
    *mode = static_cast<cudaStreamCaptureMode>(static_cast<int>(old));
    return cudaSuccess;
}

MOCK_API cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t handle, unsigned long long) {
    return onGraph(handle, [&](Graph& graph) {
        if (executable == nullptr || !graph.recording->complete) return Status::InvalidValue;
        *executable = reinterpret_cast<cudaGraphExec_t>(instantiate(graph));
        return Status::Ok;
    });
}

MOCK_API cudaError_t cudaGraphLaunch(cudaGraphExec_t handle, cudaStream_t streamHandle) {
    return onExecutable(handle, [&](Executable& executable) {
        Stream* stream = streamOf(streamHandle);
        return stream == nullptr ? Status::InvalidHandle : launchGraph(executable, *stream);
    });
}

MOCK_API cudaError_t cudaGraphDestroy(cudaGraph_t handle) {
    return onGraph(handle, [](Graph& graph) {
        destroyGraph(&graph);
        return Status::Ok;
    });
}

MOCK_API cudaError_t cudaGraphExecDestroy(cudaGraphExec_t handle) {
    return onExecutable(handle, [](Executable& executable) {
        destroyExecutable(&executable);
        return Status::Ok;
    });
}

MOCK_API cudaError_t cudaStreamGetCaptureInfo(cudaStream_t handle, cudaStreamCaptureStatus* status,
                                              unsigned long long* id, cudaGraph_t* graph,
                                              const cudaGraphNode_t** dependencies, const cudaGraphEdgeData** edges,
                                              size_t* count) {
    return onStream(handle, [&](Stream& stream) {
        if (status == nullptr) return Status::InvalidValue;
        if (stream.legacy && capturesBlocking(stream.device)) return Status::CaptureImplicit;
        CaptureInfo info = captureInfo(stream);
        *status = static_cast<cudaStreamCaptureStatus>(info.state);
        if (id != nullptr) *id = info.id;
        if (graph != nullptr) *graph = reinterpret_cast<cudaGraph_t>(info.graph);
        if (dependencies != nullptr) *dependencies = reinterpret_cast<const cudaGraphNode_t*>(info.next);
        if (edges != nullptr) *edges = nullptr;
        if (count != nullptr) *count = info.count;
        return Status::Ok;
    });
}

MOCK_API cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t handle, cudaGraphNode_t* nodes,
                                                         const cudaGraphEdgeData* edges, size_t count,
                                                         unsigned int flags) {
    return onStream(handle, [&](Stream& stream) {
        if (edges != nullptr || flags > cudaStreamSetCaptureDependencies) return Status::InvalidValue;
        return updateCapture(stream, nodesOf(nodes), count, flags == cudaStreamSetCaptureDependencies);
    });
}

MOCK_API cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t* node, cudaGraph_t handle,
                                                 const cudaGraphNode_t* after, size_t count, cudaEvent_t event) {
    return onGraph(handle, [&](Graph& graph) {
        if (node == nullptr || findEvent(event) == nullptr) return Status::InvalidValue;
        return addEventRecord(graph, nodesOf(after), count, event, reinterpret_cast<Node**>(node));
    });
}

MOCK_API cudaError_t cudaGraphAddDependencies(cudaGraph_t handle, const cudaGraphNode_t* from,
                                              const cudaGraphNode_t* to, const cudaGraphEdgeData* edges,
                                              size_t count) {
    return onGraph(handle, [&](Graph& graph) {
        if (edges != nullptr) return Status::InvalidValue;
        return addDependencies(graph, nodesOf(from), nodesOf(to), count);
    });
}

MOCK_API cudaError_t cudaUserObjectCreate(cudaUserObject_t* object, void* argument, cudaHostFn_t destroy,
                                          unsigned int references, unsigned int flags) {
    return guarded([&] {
        // More references than one are not mocked.
        bool known = object != nullptr && destroy != nullptr && references == 1 &&
                     flags == cudaUserObjectNoDestructorSync;
        if (!known) return Status::InvalidValue;
        *object = reinterpret_cast<cudaUserObject_t>(createUserObject(argument, destroy));
        return Status::Ok;
    });
}

MOCK_API cudaError_t cudaGraphRetainUserObject(cudaGraph_t handle, cudaUserObject_t objectHandle, unsigned int count,
                                               unsigned int flags) {
    return onGraph(handle, [&](Graph& graph) {
        UserObject* object = findUserObject(objectHandle);
        if (object == nullptr || count != 1 || flags != cudaGraphUserObjectMove) return Status::InvalidValue;
        moveUserObject(graph, object);
        return Status::Ok;
    });
}
