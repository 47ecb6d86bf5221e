// Stream capture and replay.
#include <thread>

#include "harness.h"

namespace {

constexpr uint64_t n = 256;

void replay(const Context&) {
    cudaStream_t a = newStream();
    cudaStream_t b = newStream();
    cudaEvent_t fork = newEvent();
    cudaEvent_t join = newEvent();
    float* x = onDevice<float>(std::vector<float>(n, 0.0f));
    float* y = onDevice<float>(std::vector<float>(n, 0.0f));
    OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
    cudaStreamCaptureStatus status;
    OK(cudaStreamIsCapturing(a, &status));
    CHECK(status == cudaStreamCaptureStatusActive);
    launchFill(x, 2.0f, n, a);
    OK(cudaEventRecord(fork, a));
    OK(cudaStreamWaitEvent(b, fork, 0));
    launchAxpy(y, x, 1.0f, n, b);
    OK(cudaEventRecord(join, b));
    OK(cudaStreamWaitEvent(a, join, 0));
    launchFill(x, 100.0f, n, a);
    cudaGraph_t graph;
    OK(cudaStreamEndCapture(a, &graph));
    OK(cudaStreamIsCapturing(b, &status));
    CHECK(status == cudaStreamCaptureStatusNone);
    CHECK(fetch(y, n, a)[0] == 0.0f);
    cudaGraphExec_t executable;
    OK(cudaGraphInstantiate(&executable, graph, 0));
    OK(cudaGraphDestroy(graph));
    for (int i = 0; i < 20; ++i) OK(cudaGraphLaunch(executable, i % 2 == 0 ? a : b));
    OK(cudaDeviceSynchronize());
    CHECK(fetch(y, n, a)[n - 1] == 40.0f);
    CHECK(fetch(x, n, a)[0] == 100.0f);
    EXPECT(cudaErrorCapturedEvent, cudaEventQuery(join));
    OK(cudaGraphExecDestroy(executable));
    EXPECT(cudaErrorInvalidValue, cudaGraphLaunch(executable, a));
}

/** Begins on `a`, leaves `b` with work nobody waits for. */
void unjoined(const Context&) {
    cudaStream_t a = newStream();
    cudaStream_t b = newStream();
    cudaEvent_t fork = newEvent();
    float* x = onDevice<float>(n);
    OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeRelaxed));
    OK(cudaEventRecord(fork, a));
    OK(cudaStreamWaitEvent(b, fork, 0));
    launchFill(x, 1.0f, n, b);
    cudaGraph_t graph;
    EXPECT(cudaErrorStreamCaptureUnmatched, cudaStreamEndCapture(b, &graph));
    EXPECT(cudaErrorStreamCaptureUnjoined, cudaStreamEndCapture(a, &graph));
    CHECK(graph == nullptr);
    OK(cudaStreamSynchronize(b));
    EXPECT(cudaErrorInvalidValue, cudaStreamEndCapture(a, &graph));
}

void isolation(const Context&) {
    cudaStream_t a = newStream();
    cudaStream_t b = newStream();
    cudaEvent_t outside = newEvent();
    OK(cudaEventRecord(outside, b));
    OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
    EXPECT(cudaErrorStreamCaptureIsolation, cudaStreamWaitEvent(a, outside, 0));
    cudaGraph_t graph;
    EXPECT(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(a, &graph));
}

void disturbed(const Context&) {
    cudaStream_t a = newStream();
    cudaStream_t b = newStream();
    cudaEvent_t event = newEvent();
    OK(cudaEventRecord(event, b));
    cudaGraph_t graph;
    // A watchdog in the default mode breaks a Global capture of another thread.
    OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
    std::thread([&] { EXPECT(cudaErrorStreamCaptureUnsupported, cudaEventQuery(event)); }).join();
    EXPECT(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(a, &graph));
    // In thread-local mode it does not.
    OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
    std::thread([&] {
        cudaStreamCaptureMode mode = cudaStreamCaptureModeThreadLocal;
        OK(cudaThreadExchangeStreamCaptureMode(&mode));
        CHECK(mode == cudaStreamCaptureModeGlobal);
        int answer = cudaEventQuery(event);
        CHECK(answer == cudaSuccess || answer == cudaErrorNotReady);
    }).join();
    OK(cudaStreamEndCapture(a, &graph));
    // A ThreadLocal capture is not disturbed by others, but by its own thread.
    OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    std::thread([&] { CHECK(cudaEventQuery(event) != cudaErrorStreamCaptureUnsupported); }).join();
    void* memory;
    EXPECT(cudaErrorStreamCaptureUnsupported, cudaMalloc(&memory, 16));
    EXPECT(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(a, &graph));
    OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeRelaxed));
    OK(cudaMalloc(&memory, 16));
    EXPECT(cudaErrorStreamCaptureUnsupported, cudaStreamSynchronize(a));
    EXPECT(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(a, &graph));
    EXPECT(cudaErrorStreamCaptureUnsupported, cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal));
    OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    std::thread([&] { EXPECT(cudaErrorStreamCaptureWrongThread, cudaStreamEndCapture(a, &graph)); }).join();
    OK(cudaStreamEndCapture(a, &graph));
    cudaStream_t blocking;
    OK(cudaStreamCreate(&blocking));
    OK(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeGlobal));
    EXPECT(cudaErrorStreamCaptureImplicit, cudaMemsetAsync(memory, 0, 16, nullptr));
    EXPECT(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(blocking, &graph));
}

void collectives(const Context& context) {
    OK(cudaSetDevice(context.rank));
    ncclComm_t comm;
    OK(ncclCommInitRank(&comm, context.size, context.id, context.rank));
    cudaStream_t stream = newStream();
    cudaStream_t other = newStream();
    cudaEvent_t fork = newEvent();
    cudaEvent_t join = newEvent();
    float* x = onDevice<float>(std::vector<float>(n, 1.0f));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    OK(cudaEventRecord(fork, stream));
    OK(cudaStreamWaitEvent(other, fork, 0));
    OK(ncclAllReduce(x, x, n, ncclFloat32, ncclSum, comm, other));
    OK(cudaEventRecord(join, other));
    OK(cudaStreamWaitEvent(stream, join, 0));
    launchAxpy(x, x, -0.5f, n, stream);
    cudaGraph_t graph;
    OK(cudaStreamEndCapture(stream, &graph));
    cudaGraphExec_t executable;
    OK(cudaGraphInstantiate(&executable, graph, 0));
    // Replayed and eager operations of one communicator keep their order, though their streams differ.
    for (int i = 0; i < 5; ++i) {
        OK(cudaGraphLaunch(executable, stream));
        OK(cudaStreamSynchronize(stream));
        OK(ncclAllReduce(x, x, n, ncclFloat32, ncclMax, comm, other));
        OK(cudaStreamSynchronize(other));
    }
    float expected = 1.0f;
    for (int i = 0; i < 5; ++i) expected *= static_cast<float>(context.size) * 0.5f;
    CHECK(fetch(x, n, stream)[n - 1] == expected);
    OK(cudaGraphExecDestroy(executable));
    OK(cudaGraphDestroy(graph));
    OK(ncclCommDestroy(comm));
}

}  // namespace

void addCaptureCases(std::vector<Case>& cases) {
    cases.push_back({"capture and replay", 1, {"MOCK_DELAY_US=300"}, replay});
    cases.push_back({"capture unjoined", 1, {}, unjoined});
    cases.push_back({"capture isolation", 1, {}, isolation});
    cases.push_back({"capture disturbed", 1, {}, disturbed});
    cases.push_back({"captured collectives", 3, {"MOCK_DELAY_US=200"}, collectives});
}
