// Stream capture and graphs.
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
        if (executable == nullptr) return Status::InvalidValue;
        *executable = reinterpret_cast<cudaGraphExec_t>(instantiate(graph));
        return Status::Ok;
    });
}

MOCK_API cudaError_t cudaGraphLaunch(cudaGraphExec_t handle, cudaStream_t streamHandle) {
    return onExecutable(handle, [&](Executable& executable) {
        Stream* stream = findStream(streamHandle);
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
