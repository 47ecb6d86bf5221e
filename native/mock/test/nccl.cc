// What CUDA and NCCL refuse, and what ends the process. That they work is for the binding's tests.
#include <atomic>
#include <climits>
#include <cstring>
#include <dlfcn.h>

#include "../front/cuda/kernel.h"
#include "../front/cuda/types.h"
#include "../front/nccl/types.h"
#include "runner.h"

using Context = ContextOf<ncclUniqueId>;
using Case = CaseOf<ncclUniqueId>;

extern "C" {
cudaError_t cudaGetDeviceCount(int*);
cudaError_t cudaSetDevice(int);
cudaError_t cudaGetLastError();
cudaError_t cudaMalloc(void**, size_t);
cudaError_t cudaFree(void*);
cudaError_t cudaHostAlloc(void**, size_t, unsigned);
cudaError_t cudaFreeHost(void*);
cudaError_t cudaMemcpy(void*, const void*, size_t, cudaMemcpyKind);
cudaError_t cudaMemcpyAsync(void*, const void*, size_t, cudaMemcpyKind, cudaStream_t);
cudaError_t cudaStreamCreate(cudaStream_t*);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t*, unsigned);
cudaError_t cudaStreamDestroy(cudaStream_t);
cudaError_t cudaStreamSynchronize(cudaStream_t);
cudaError_t cudaStreamQuery(cudaStream_t);
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned);
cudaError_t cudaLaunchHostFunc(cudaStream_t, cudaHostFn_t, void*);
cudaError_t cudaLaunchKernel(const void*, dim3, dim3, void**, size_t, cudaStream_t);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t*, unsigned);
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t);
cudaError_t cudaEventQuery(cudaEvent_t);
cudaError_t cudaEventDestroy(cudaEvent_t);
cudaError_t cudaEventElapsedTime(float*, cudaEvent_t, cudaEvent_t);
cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode);
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t*);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t*, cudaGraph_t, unsigned long long);
cudaError_t cudaGraphDestroy(cudaGraph_t);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t);
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode*);
cudaError_t cudaHostRegister(void*, size_t, unsigned);
cudaError_t cudaHostUnregister(void*);
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes*, const void*);
cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t*, void*);
cudaError_t cudaIpcOpenMemHandle(void**, cudaIpcMemHandle_t, unsigned);
cudaError_t cudaFreeAsync(void*, cudaStream_t);
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t, cudaStreamCaptureStatus*, unsigned long long*, cudaGraph_t*,
                                     const cudaGraphNode_t**, const cudaGraphEdgeData**, size_t*);
cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t, cudaGraphNode_t*, const cudaGraphEdgeData*, size_t,
                                                unsigned);
cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*, size_t, cudaEvent_t);
cudaError_t cudaGraphLaunch(cudaGraphExec_t, cudaStream_t);
cudaError_t cudaUserObjectCreate(cudaUserObject_t*, void*, cudaHostFn_t, unsigned, unsigned);
cudaError_t cudaGraphRetainUserObject(cudaGraph_t, cudaUserObject_t, unsigned, unsigned);
extern const char mockKernelFill[8];
extern const char mockKernelBusy[8];

ncclResult_t ncclGetVersion(int*);
const char* ncclGetLastError(ncclComm_t);
ncclResult_t ncclGetUniqueId(ncclUniqueId*);
ncclResult_t ncclCommInitRank(ncclComm_t*, int, ncclUniqueId, int);
ncclResult_t ncclCommInitRankConfig(ncclComm_t*, int, ncclUniqueId, int, ncclConfig_t*);
ncclResult_t ncclCommInitRankScalable(ncclComm_t*, int, int, int, ncclUniqueId*, ncclConfig_t*);
ncclResult_t ncclCommSplit(ncclComm_t, int, int, ncclComm_t*, ncclConfig_t*);
ncclResult_t ncclCommAbort(ncclComm_t);
ncclResult_t ncclCommRevoke(ncclComm_t, int);
ncclResult_t ncclCommFinalize(ncclComm_t);
ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t*);
ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t*, void*, ncclDataType_t, ncclScalarResidence_t, ncclComm_t);
ncclResult_t ncclRedOpDestroy(ncclRedOp_t, ncclComm_t);
ncclResult_t ncclAllReduce(const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t, cudaStream_t);
ncclResult_t ncclAllGather(const void*, void*, size_t, ncclDataType_t, ncclComm_t, cudaStream_t);
ncclResult_t ncclBroadcast(const void*, void*, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t);
ncclResult_t ncclSend(const void*, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t);
ncclResult_t ncclGroupStart();
ncclResult_t ncclGroupEnd();
ncclResult_t ncclMemAlloc(void**, size_t);
ncclResult_t ncclMemFree(void*);
}

namespace {

constexpr uint64_t n = 1000;

cudaStream_t newStream() {
    cudaStream_t stream;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return stream;
}

cudaEvent_t newEvent() {
    cudaEvent_t event;
    OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    return event;
}

float* onDevice(size_t count) {
    void* memory;
    OK(cudaMalloc(&memory, count * sizeof(float)));
    return static_cast<float*>(memory);
}

cudaError_t fill(float* data, float value, uint64_t count, cudaStream_t stream) {
    void* arguments[] = {&data, &value, &count};
    return cudaLaunchKernel(mockKernelFill, {1, 1, 1}, {1, 1, 1}, arguments, 0, stream);
}

void keepBusy(uint64_t microseconds, cudaStream_t stream) {
    void* arguments[] = {&microseconds};
    OK(cudaLaunchKernel(mockKernelBusy, {1, 1, 1}, {1, 1, 1}, arguments, 0, stream));
}

ncclComm_t join(const Context& context) {
    OK(cudaSetDevice(context.rank));
    ncclComm_t comm;
    OK(ncclCommInitRank(&comm, context.size, context.id, context.rank));
    return comm;
}

void runtimeArguments(const Context&) {
    EXPECT(cudaErrorInvalidDevice, cudaSetDevice(4));
    EXPECT(cudaErrorInvalidDevice, cudaSetDevice(-1));
    cudaEvent_t event = newEvent();
    OK(cudaSetDevice(2));
    cudaStream_t elsewhere = newStream();
    EXPECT(cudaErrorInvalidResourceHandle, cudaEventRecord(event, elsewhere));
    OK(cudaSetDevice(0));
    char host[200] = {};
    EXPECT(cudaErrorInvalidResourceHandle, fill(onDevice(1), 1, 1, elsewhere));
    EXPECT(98, cudaLaunchKernel(host, {1, 1, 1}, {1, 1, 1}, nullptr, 0, newStream()));
    OK(cudaStreamDestroy(elsewhere));
    EXPECT(cudaErrorInvalidResourceHandle, cudaStreamSynchronize(elsewhere));
    EXPECT(cudaErrorInvalidResourceHandle, cudaStreamDestroy(elsewhere));
    EXPECT(cudaErrorInvalidResourceHandle, cudaStreamDestroy(nullptr));
    EXPECT(cudaErrorInvalidResourceHandle, cudaStreamSynchronize(reinterpret_cast<cudaStream_t>(uintptr_t(0x1234))));
    float time = 0;
    EXPECT(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&time, event, event));
    OK(cudaEventDestroy(event));
    EXPECT(cudaErrorInvalidResourceHandle, cudaEventQuery(event));
    EXPECT(cudaErrorInvalidResourceHandle, cudaGetLastError());
    OK(cudaGetLastError());
    float* memory = onDevice(25);
    EXPECT(cudaErrorInvalidValue, cudaMemcpy(memory, host, 101, cudaMemcpyHostToDevice));
    EXPECT(cudaErrorInvalidValue, cudaMemcpy(memory, host, 10, cudaMemcpyDeviceToHost));
    EXPECT(cudaErrorInvalidValue, cudaFree(memory + 1));
    EXPECT(cudaErrorInvalidValue, cudaFree(host));
    OK(cudaFree(memory));
    EXPECT(cudaErrorInvalidValue, cudaFree(memory));
    OK(cudaFree(nullptr));
    EXPECT(cudaErrorInvalidValue, cudaMemcpy(memory, host, 10, cudaMemcpyHostToDevice));
    void* huge = nullptr;
    EXPECT(cudaErrorMemoryAllocation, cudaMalloc(&huge, size_t(1) << 60));
}

struct Touch {
    const void* address;
    size_t bytes;
};

const char touchKernel = 0;

void touch(const void* argument, size_t) {
    auto& what = *static_cast<const Touch*>(argument);
    static_cast<char*>(mockCudaView(what.address, what.bytes, "touch"))[what.bytes - 1] = 1;
}

cudaError_t launchTouch(const void* address, size_t bytes) {
    mockCudaRegisterKernel(&touchKernel, touch, sizeof(Touch));
    Touch what{address, bytes};
    void* arguments[] = {&what};
    cudaStream_t stream = newStream();
    cudaError_t launched = cudaLaunchKernel(&touchKernel, {1, 1, 1}, {1, 1, 1}, arguments, 0, stream);
    return launched == cudaSuccess ? cudaStreamSynchronize(stream) : launched;
}

/** A kernel reaches memory of the device, and what is page-locked of the host. */
void kernelMemory(const Context&) {
    OK(launchTouch(onDevice(n), n * sizeof(float)));
    char host[200] = {};
    EXPECT(cudaErrorHostMemoryNotRegistered, cudaHostUnregister(host));
    OK(cudaHostRegister(host, sizeof host, cudaHostRegisterMapped));
    EXPECT(cudaErrorHostMemoryAlreadyRegistered, cudaHostRegister(host + 100, 200, cudaHostRegisterMapped));
    OK(launchTouch(host, sizeof host));
    CHECK(host[199] == 1);
    OK(cudaHostUnregister(host));
}

void kernelOutOfRange(const Context&) { launchTouch(onDevice(n), n * sizeof(float) + 1); }

void kernelOnPageableMemory(const Context&) {
    char host[200] = {};
    launchTouch(host, sizeof host);
}

void memoryOfAStream(const Context&) {
    cudaStream_t stream = newStream();
    float* memory = onDevice(1);
    keepBusy(50000, stream);
    OK(cudaFreeAsync(memory, stream));
    cudaPointerAttributes attributes;
    OK(cudaPointerGetAttributes(&attributes, memory));
    CHECK(attributes.type == cudaMemoryTypeDevice);
    OK(cudaStreamSynchronize(stream));
    EXPECT(cudaErrorInvalidValue, cudaPointerGetAttributes(&attributes, memory));
    cudaIpcMemHandle_t handle{};
    EXPECT(cudaErrorInvalidValue, cudaIpcGetMemHandle(&handle, memory));
    // A process cannot open what it has itself.
    OK(cudaIpcGetMemHandle(&handle, onDevice(1)));
    void* opened = nullptr;
    EXPECT(cudaErrorInvalidValue, cudaIpcOpenMemHandle(&opened, handle, cudaIpcMemLazyEnablePeerAccess));
}

void newMemoryIsPoisoned(const Context&) {
    unsigned char host[16] = {};
    OK(cudaMemcpy(host, onDevice(4), 16, cudaMemcpyDeviceToHost));
    for (unsigned char byte : host) CHECK(byte == 0xff);
}

/** Pageable memory is staged: it may change as soon as the call is back, though the stream is busy. */
void stagedCopy(const Context&) {
    cudaStream_t stream = newStream();
    float* memory = onDevice(1);
    float host = 7;
    keepBusy(20000, stream);
    OK(cudaMemcpyAsync(memory, &host, sizeof host, cudaMemcpyHostToDevice, stream));
    host = 0;
    OK(cudaMemcpyAsync(&host, memory, sizeof host, cudaMemcpyDeviceToHost, stream));
    CHECK(host == 7);
}

/** Page-locked memory is left to the stream, in both directions. */
void pageLockedCopy(const Context&) {
    cudaStream_t stream = newStream();
    float* memory = onDevice(1);
    void* locked = nullptr;
    EXPECT(cudaErrorInvalidValue, cudaHostAlloc(&locked, 64, 0x100));
    OK(cudaHostAlloc(&locked, 64, 0));
    auto* host = static_cast<volatile float*>(locked);
    *host = 7;
    keepBusy(200000, stream);
    OK(cudaMemcpyAsync(memory, locked, sizeof(float), cudaMemcpyHostToDevice, stream));
    *host = 8;
    OK(cudaStreamSynchronize(stream));
    keepBusy(200000, stream);
    OK(cudaMemcpyAsync(locked, memory, sizeof(float), cudaMemcpyDeviceToHost, stream));
    *host = 9;
    OK(cudaStreamSynchronize(stream));
    CHECK(*host == 8);
    EXPECT(cudaErrorInvalidValue, cudaFreeHost(memory));
    OK(cudaFreeHost(locked));
    EXPECT(cudaErrorInvalidValue, cudaFreeHost(locked));
    OK(cudaFreeHost(nullptr));
}

void useOfFreedHostMemory(const Context&) {
    void* locked = nullptr;
    OK(cudaHostAlloc(&locked, 64, 0));
    OK(cudaFreeHost(locked));
    *static_cast<volatile float*>(locked) = 1.0f;
}

void useAfterFree(const Context&) {
    float* memory = onDevice(n);
    OK(cudaFree(memory));
    cudaStream_t stream = newStream();
    fill(memory, 1.0f, n, stream);
    cudaStreamSynchronize(stream);
}

void outOfRange(const Context&) {
    cudaStream_t stream = newStream();
    fill(onDevice(n), 1.0f, n + 1, stream);
    cudaStreamSynchronize(stream);
}

void hostTouches(const Context&) { *static_cast<volatile float*>(onDevice(n)) = 1.0f; }

std::atomic<int> insideResult{-1};

void hostFunction(const Context&) {
    cudaStream_t stream = newStream();
    OK(cudaLaunchHostFunc(
        stream, [](void* argument) { insideResult = cudaStreamQuery(static_cast<cudaStream_t>(argument)); }, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK(insideResult == cudaErrorNotPermitted);
}

void injected(const Context&) {
    cudaStream_t stream = newStream();
    float* x = onDevice(n);
    OK(fill(x, 1.0f, n, stream));
    EXPECT(719, fill(x, 1.0f, n, stream));
    OK(fill(x, 1.0f, n, stream));
}

/** Begins on one stream and leaves another with work nobody waits for. */
void unjoined(const Context&) {
    cudaStream_t a = newStream();
    cudaStream_t b = newStream();
    cudaEvent_t fork = newEvent();
    OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeRelaxed));
    OK(cudaEventRecord(fork, a));
    OK(cudaStreamWaitEvent(b, fork, 0));
    OK(fill(onDevice(n), 1.0f, n, b));
    cudaGraph_t graph;
    EXPECT(cudaErrorStreamCaptureUnmatched, cudaStreamEndCapture(b, &graph));
    EXPECT(cudaErrorStreamCaptureUnjoined, cudaStreamEndCapture(a, &graph));
    CHECK(graph == nullptr);
    EXPECT(cudaErrorCapturedEvent, cudaEventQuery(fork));
    EXPECT(cudaErrorInvalidValue, cudaStreamEndCapture(a, &graph));
}

/** What a stream was made to leave behind need not be joined; what it still has must be. */
void capturedByHand(const Context&) {
    cudaStream_t stream = newStream(), other = newStream();
    cudaEvent_t fork = newEvent(), outside = newEvent();
    float* x = onDevice(1);
    for (bool leave : {true, false}) {
        OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        OK(cudaEventRecord(fork, stream));
        OK(cudaStreamWaitEvent(other, fork, 0));
        OK(fill(x, 2, 1, other));
        cudaStreamCaptureStatus status;
        cudaGraph_t graph, ended;
        const cudaGraphNode_t* nodes;
        size_t count;
        OK(cudaStreamGetCaptureInfo(other, &status, nullptr, &graph, &nodes, nullptr, &count));
        CHECK(status == cudaStreamCaptureStatusActive && count == 1);
        cudaGraphNode_t record;
        OK(cudaGraphAddEventRecordNode(&record, graph, nodes, count, outside));
        if (leave) OK(cudaStreamUpdateCaptureDependencies(other, &record, nullptr, 1, cudaStreamSetCaptureDependencies));
        EXPECT(leave ? cudaSuccess : cudaErrorStreamCaptureUnjoined, cudaStreamEndCapture(stream, &ended));
        CHECK(leave ? ended == graph : ended == nullptr);
        if (leave) OK(cudaGraphDestroy(graph));
    }
}

std::atomic<int> destroyed{0};

/** An object lives as long as the last graph or run that has it. */
void objectOfAGraph(const Context&) {
    cudaStream_t stream = newStream();
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    keepBusy(100000, stream);
    cudaStreamCaptureStatus status;
    cudaGraph_t graph;
    OK(cudaStreamGetCaptureInfo(stream, &status, nullptr, &graph, nullptr, nullptr, nullptr));
    cudaUserObject_t object;
    auto destroy = [](void*) { ++destroyed; };
    EXPECT(cudaErrorInvalidValue, cudaUserObjectCreate(&object, nullptr, destroy, 2, cudaUserObjectNoDestructorSync));
    OK(cudaUserObjectCreate(&object, nullptr, destroy, 1, cudaUserObjectNoDestructorSync));
    OK(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
    EXPECT(cudaErrorInvalidValue, cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
    OK(cudaStreamEndCapture(stream, &graph));
    cudaGraphExec_t executable;
    OK(cudaGraphInstantiate(&executable, graph, 0));
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphLaunch(executable, stream));
    OK(cudaGraphExecDestroy(executable));
    CHECK(destroyed == 0);
    OK(cudaStreamSynchronize(stream));
    for (int i = 0; i < 1000 && destroyed == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    CHECK(destroyed == 1);
}

void isolation(const Context&) {
    cudaStream_t a = newStream();
    cudaEvent_t outside = newEvent();
    OK(cudaEventRecord(outside, newStream()));
    OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
    EXPECT(cudaErrorStreamCaptureIsolation, cudaStreamWaitEvent(a, outside, 0));
    cudaGraph_t graph;
    EXPECT(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(a, &graph));
}

void disturbed(const Context&) {
    cudaStream_t a = newStream();
    cudaEvent_t event = newEvent();
    OK(cudaEventRecord(event, newStream()));
    cudaGraph_t graph;
    // A thread in the default mode breaks a Global capture of another one.
    OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
    std::thread([&] { EXPECT(cudaErrorStreamCaptureUnsupported, cudaEventQuery(event)); }).join();
    EXPECT(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(a, &graph));
    // In thread-local mode it does not.
    OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
    std::thread([&] {
        cudaStreamCaptureMode mode = cudaStreamCaptureModeThreadLocal;
        OK(cudaThreadExchangeStreamCaptureMode(&mode));
        CHECK(mode == cudaStreamCaptureModeGlobal);
        CHECK(cudaEventQuery(event) != cudaErrorStreamCaptureUnsupported);
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
    EXPECT(cudaErrorStreamCaptureImplicit, fill(static_cast<float*>(memory), 0, 4, nullptr));
    EXPECT(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(blocking, &graph));
}

void collectiveArguments(const Context& context) {
    ncclComm_t comm = join(context);
    cudaStream_t stream = newStream();
    float* x = onDevice(n);
    float host[4];
    auto reduce = [&](const void* send, size_t count, int type, int op, cudaStream_t on) {
        return ncclAllReduce(send, x, count, static_cast<ncclDataType_t>(type), static_cast<ncclRedOp_t>(op), comm, on);
    };
    EXPECT(ncclInvalidArgument, ncclAllReduce(x, x, n, ncclFloat32, ncclSum, nullptr, stream));
    EXPECT(ncclInvalidArgument, reduce(x, n, 12, ncclSum, stream));
    EXPECT(ncclInvalidArgument, reduce(x, n, ncclFloat32, 5, stream));
    EXPECT(ncclInvalidArgument, reduce(host, 4, ncclFloat32, ncclSum, stream));
    EXPECT(ncclInvalidArgument, reduce(nullptr, 4, ncclFloat32, ncclSum, stream));
    EXPECT(ncclInvalidArgument, reduce(x, n, ncclFloat8e4m3, ncclSum, stream));
    EXPECT(ncclUnhandledCudaError, reduce(x, n, ncclFloat32, ncclSum, reinterpret_cast<cudaStream_t>(x)));
    OK(reduce(nullptr, 0, ncclFloat32, ncclSum, stream));
    EXPECT(ncclInvalidArgument, ncclBroadcast(x, x, n, ncclFloat32, 1, comm, stream));
    EXPECT(ncclInvalidArgument, ncclBroadcast(x, x, n, ncclFloat32, -1, comm, stream));
    OK(ncclBroadcast(x, x, n, ncclFloat8e4m3, 0, comm, stream));
    EXPECT(ncclInvalidUsage, ncclSend(x, n, ncclFloat32, 0, comm, stream));
    EXPECT(ncclInvalidUsage, ncclGroupEnd());
    OK(ncclGroupStart());
    EXPECT(ncclInvalidArgument, ncclBroadcast(x, x, n, ncclFloat32, 9, comm, stream));
    EXPECT(ncclInvalidArgument, ncclGroupEnd());
    float factor = 0.5f;
    ncclRedOp_t op;
    OK(ncclRedOpCreatePreMulSum(&op, &factor, ncclFloat32, ncclScalarHostImmediate, comm));
    EXPECT(ncclInvalidArgument, reduce(x, n, ncclInt32, op, stream));
    OK(ncclRedOpDestroy(op, comm));
    EXPECT(ncclInvalidArgument, ncclRedOpDestroy(op, comm));
    EXPECT(ncclInvalidArgument, ncclRedOpDestroy(ncclSum, comm));
    EXPECT(ncclInvalidArgument, reduce(x, n, ncclFloat32, op, stream));
    void* memory;
    OK(ncclMemAlloc(&memory, 4096));
    OK(ncclMemFree(memory));
    EXPECT(ncclUnhandledCudaError, ncclMemFree(memory));
    EXPECT(ncclInvalidArgument, ncclCommRevoke(comm, 1));
    OK(ncclCommRevoke(comm, 0));
    EXPECT(ncclInvalidUsage, reduce(x, n, ncclFloat32, ncclSum, stream));
    EXPECT(ncclInvalidArgument, ncclCommRevoke(comm, 0));
    EXPECT(ncclInvalidArgument, ncclCommFinalize(comm));
    OK(ncclCommAbort(comm));
}

ncclConfig_t config() {
    ncclConfig_t result{};
    result.size = sizeof result;
    result.magic = NCCL_API_MAGIC;
    result.version = 23007;
    for (int* field : {&result.blocking, &result.cgaClusterSize, &result.minCTAs, &result.maxCTAs, &result.splitShare,
                       &result.trafficClass, &result.collnetEnable, &result.CTAPolicy, &result.nvlsCTAs}) {
        *field = INT_MIN;
    }
    return result;
}

void configurations(const Context& context) {
    ncclComm_t comm;
    auto attempt = [&](const ncclConfig_t& asked) {
        ncclConfig_t own = asked;
        return ncclCommInitRankConfig(&comm, 1, context.id, 0, &own);
    };
    ncclConfig_t bad = config();
    bad.magic = 1;
    EXPECT(ncclInvalidArgument, attempt(bad));
    CHECK(comm == nullptr);
    bad = config();
    bad.minCTAs = 4;
    EXPECT(ncclInvalidArgument, attempt(bad));
    bad.maxCTAs = 2;
    EXPECT(ncclInvalidArgument, attempt(bad));
    EXPECT(ncclInvalidArgument, ncclCommInitRank(&comm, 1, context.id, 1));
    OK(attempt(config()));
    ncclUniqueId twice[] = {context.id, context.id};
    EXPECT(ncclInvalidArgument, ncclCommInitRankScalable(&comm, 2, 0, 2, twice, nullptr));
    EXPECT(ncclInvalidArgument, ncclCommInitRankScalable(&comm, 1, 0, 2, twice, nullptr));
    EXPECT(ncclInvalidArgument, ncclCommInitRankScalable(&comm, 1, 0, 1, nullptr, nullptr));
    // An id is for one communicator.
    CHECK(ncclCommInitRank(&comm, 1, context.id, 0) != ncclSuccess);
}

ncclComm_t joinNonBlocking(const Context& context) {
    OK(cudaSetDevice(context.rank));
    ncclConfig_t asked = config();
    asked.blocking = 0;
    ncclComm_t comm;
    EXPECT(ncclInProgress, ncclCommInitRankConfig(&comm, context.size, context.id, context.rank, &asked));
    return comm;
}

/** The state after the job, for which it waits. */
ncclResult_t settle(ncclComm_t comm) {
    ncclResult_t state = ncclInProgress;
    while (state == ncclInProgress) OK(ncclCommGetAsyncError(comm, &state));
    return state;
}

/** A rank splits before the others, so it sees what is refused meanwhile. */
void lateSplit(const Context& context) {
    ncclComm_t comm = joinNonBlocking(context);
    OK(settle(comm));
    if (context.rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(300));
    auto* child = reinterpret_cast<ncclComm_t>(uintptr_t(8));
    OK(ncclCommSplit(comm, 0, 0, &child, nullptr));
    CHECK(child == nullptr);
    if (context.rank == 0) {
        EXPECT(ncclInvalidArgument, ncclCommFinalize(comm));
        EXPECT(ncclInvalidArgument, ncclCommSplit(comm, 0, 0, &child, nullptr));
    }
    OK(settle(comm));
    CHECK(child != nullptr);
    OK(settle(child));
}

void twoAsk(const Context& context) {
    ncclComm_t comm = joinNonBlocking({context.rank, 2, context.id});
    std::thread other(settle, comm);
    settle(comm);
}

void revokedDuringAJob(const Context& context) { ncclCommRevoke(joinNonBlocking({context.rank, 2, context.id}), 0); }

void usedAfterAbort(const Context& context) {
    ncclComm_t comm = join(context);
    OK(ncclCommAbort(comm));
    ncclResult_t state;
    ncclCommGetAsyncError(comm, &state);
}

/** A thread is inside for as long as the other rank does not split. */
void abortedUnderAThread(const Context& context) {
    ncclComm_t comm = join(context);
    if (context.rank == 1) std::abort();
    std::thread([comm] {
        ncclComm_t child;
        ncclCommSplit(comm, 0, 0, &child, nullptr);
        std::this_thread::sleep_for(std::chrono::seconds(60));
    }).detach();
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    ncclCommAbort(comm);
}

/** The thread stays inside, so the communicator cannot be freed. */
void abortedAfterAMissedRevoke(const Context& context) {
    ncclComm_t comm = join(context);
    if (context.rank == 1) std::abort();
    std::thread([comm] {
        ncclComm_t child;
        ncclCommSplit(comm, 0, 0, &child, nullptr);
        std::exit(1);
    }).detach();
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    OK(ncclCommRevoke(comm, 0));
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    ncclCommAbort(comm);
}

void abortedAfterARevoke(const Context& context) {
    ncclComm_t comm = join(context);
    std::atomic<bool> left{false};
    std::thread splits([&] {
        ncclComm_t child;
        if (context.rank == 0) EXPECT(ncclInternalError, ncclCommSplit(comm, 0, 0, &child, nullptr));
        left = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    CHECK(left == (context.rank == 1));
    OK(ncclCommRevoke(comm, 0));
    splits.join();
    OK(ncclCommAbort(comm));
}

void revokeHangs(const Context& context) {
    ncclComm_t comm = join(context);
    cudaStream_t stream = newStream();
    float* x = onDevice(1);
    if (context.rank == 1) std::abort();
    OK(ncclAllReduce(x, x, 1, ncclFloat32, ncclSum, comm, stream));
    std::thread([comm] { ncclCommRevoke(comm, 0); }).detach();
    OK(cudaStreamSynchronize(stream));
    ncclCommAbort(comm);
}

/** The executable graph holds operations of the communicator. */
cudaGraphExec_t captured(ncclComm_t comm, cudaStream_t stream) {
    float* x = onDevice(1);
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    OK(ncclAllReduce(x, x, 1, ncclFloat32, ncclSum, comm, stream));
    cudaGraph_t graph;
    OK(cudaStreamEndCapture(stream, &graph));
    cudaGraphExec_t executable;
    OK(cudaGraphInstantiate(&executable, graph, 0));
    OK(cudaGraphDestroy(graph));
    return executable;
}

template <class End>
void waitsForTheGraph(const Context& context, End end) {
    ncclComm_t comm = join(context);
    cudaGraphExec_t graph = captured(comm, newStream());
    std::atomic<bool> ended{false};
    std::thread ending([&] {
        OK(end(comm));
        ended = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    CHECK(!ended);
    OK(cudaGraphExecDestroy(graph));
    ending.join();
}

void finalizeWaitsForGraphs(const Context& context) { waitsForTheGraph(context, ncclCommFinalize); }
void abortWaitsForGraphs(const Context& context) { waitsForTheGraph(context, ncclCommAbort); }

void graphAfterARevoke(const Context& context) {
    ncclComm_t comm = join(context);
    cudaGraphExec_t graph = captured(comm, newStream());
    OK(ncclCommRevoke(comm, 0));
    OK(ncclCommAbort(comm));
    cudaGraphExecDestroy(graph);
}

void overrun(const Context& context) {
    ncclComm_t comm = join(context);
    cudaStream_t stream = newStream();
    ncclAllReduce(onDevice(n), onDevice(n), n + 1, ncclFloat32, ncclSum, comm, stream);
    cudaStreamSynchronize(stream);
}

void mismatchHangs(const Context& context) {
    ncclComm_t comm = join(context);
    cudaStream_t stream = newStream();
    float* x = onDevice(2 * n);
    OK(context.rank == 0 ? ncclAllReduce(x, x, n, ncclFloat32, ncclSum, comm, stream)
                         : ncclAllGather(x, x, n, ncclFloat32, comm, stream));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    EXPECT(cudaErrorNotReady, cudaStreamQuery(stream));
    OK(ncclCommAbort(comm));
    OK(cudaStreamSynchronize(stream));
}

void ranksThatDoNotFit(const Context& context) {
    OK(cudaSetDevice(std::getenv("SAME_DEVICE") != nullptr ? 0 : context.rank));
    ncclComm_t comm;
    EXPECT(ncclInvalidUsage, ncclCommInitRank(&comm, context.size, context.id, context.rank));
    CHECK(comm == nullptr);
}

bool lastErrorSays(const char* text) { return std::strstr(ncclGetLastError(nullptr), text) != nullptr; }

void slicesOfOneDevice(const Context& context) {
    ranksThatDoNotFit(context);
    CHECK(lastErrorSays("Duplicate GPU detected : rank"));
}

void slicesOfOneDeviceTold(const Context& context) {
    OK(cudaSetDevice(context.rank));
    ncclComm_t comm;
    OK(ncclCommInitRank(&comm, context.size, context.id, context.rank));
}

void sharedMemoryFull(const Context& context) {
    OK(cudaSetDevice(context.rank));
    ncclComm_t comm;
    EXPECT(ncclSystemError, ncclCommInitRank(&comm, context.size, context.id, context.rank));
    CHECK(lastErrorSays("/dev/shm/nccl-"));
}

/** Ranks that issue on two communicators in different orders are stuck. */
void oneCollectiveAtATime(const Context& context) {
    ncclComm_t comms[2];
    comms[0] = join(context);
    OK(ncclCommSplit(comms[0], 0, context.rank, &comms[1], nullptr));
    cudaStream_t streams[] = {newStream(), newStream()};
    float* x = onDevice(2);
    for (int each : {context.rank, 1 - context.rank}) {
        OK(ncclAllReduce(x + each, x + each, 1, ncclFloat32, ncclSum, comms[each], streams[each]));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    EXPECT(cudaErrorNotReady, cudaStreamQuery(streams[0]));
    EXPECT(cudaErrorNotReady, cudaStreamQuery(streams[1]));
    // The abort of one rank lets the other one's streams go.
    std::this_thread::sleep_for(std::chrono::seconds(2));
    OK(ncclCommAbort(comms[0]));
    OK(cudaStreamSynchronize(streams[1]));
}

void firstContact(const Context& context) {
    ncclComm_t comm = join(context);
    float* x = onDevice(1);
    if (context.rank == 0) EXPECT(8, ncclAllReduce(x, x, 1, ncclFloat32, ncclSum, comm, newStream()));
}

void firstContactWaits(const Context& context) {
    ncclComm_t comm = join(context);
    if (context.rank == 1) return;
    std::atomic<bool> returned{false};
    std::thread first([&] {
        OK(cudaSetDevice(0));
        float* x = onDevice(1);
        EXPECT(ncclInternalError, ncclAllReduce(x, x, 1, ncclFloat32, ncclSum, comm, newStream()));
        returned = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    CHECK(!returned);
    OK(ncclCommRevoke(comm, 0));
    first.join();
    OK(ncclCommAbort(comm));
}

void failedForGood(const Context& context) {
    ncclComm_t comm = join(context);
    cudaStream_t stream = newStream();
    float* x = onDevice(1);
    // The device may come to it, and fail, before the call that starts it has returned.
    cudaError_t started = fill(x, 1, 1, stream);
    CHECK(started == cudaSuccess || started == 700);
    EXPECT(700, cudaStreamSynchronize(stream));
    EXPECT(700, cudaSetDevice(0));
    EXPECT(700, cudaFree(x));
    EXPECT(ncclUnhandledCudaError, ncclAllReduce(x, x, 1, ncclFloat32, ncclSum, comm, stream));
}

void sharedDevice(const Context& context) {
    ncclComm_t comm;
    OK(ncclCommInitRank(&comm, context.size, context.id, context.rank));
}

void noDevice(const Context& context) {
    int count = -1;
    EXPECT(cudaErrorNoDevice, cudaGetDeviceCount(&count));
    CHECK(count == 0);
    EXPECT(cudaErrorNoDevice, cudaStreamSynchronize(nullptr));
    ncclComm_t comm;
    EXPECT(ncclUnhandledCudaError, ncclCommInitRank(&comm, 1, context.id, 0));
    void* memory;
    EXPECT(ncclUnhandledCudaError, ncclMemAlloc(&memory, 16));
}

void olderLibrary(const Context&) {
    std::string path = std::string(std::getenv("MOCK_LIBRARIES")) + "/nccl-2.27.7/libnccl.so.2";
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    CHECK(library != nullptr);
    int code = 0;
    OK(reinterpret_cast<decltype(&ncclGetVersion)>(dlsym(library, "ncclGetVersion"))(&code));
    CHECK(code == 22707);
    for (const char* later : {"ncclCommRevoke", "ncclAlltoAll", "ncclGather", "ncclScatter"}) {
        CHECK(dlsym(library, later) == nullptr);
    }
}

const std::vector<Case> cases{
    {"runtime arguments", 1, {}, runtimeArguments},
    {"kernel memory", 1, {}, kernelMemory},
    {"kernel out of range", 1, {}, kernelOutOfRange, SIGABRT},
    {"kernel on pageable memory", 1, {}, kernelOnPageableMemory, SIGABRT},
    {"memory of a stream", 1, {}, memoryOfAStream},
    {"new memory is poisoned", 1, {}, newMemoryIsPoisoned},
    {"staged copy", 1, {}, stagedCopy},
    {"page-locked copy", 1, {}, pageLockedCopy},
    {"use after free", 1, {}, useAfterFree, SIGABRT},
    {"out of range", 1, {}, outOfRange, SIGABRT},
    {"use of freed host memory", 1, {}, useOfFreedHostMemory, SIGSEGV},
    {"host touches device memory", 1, {}, hostTouches, SIGSEGV},
    {"host function", 1, {}, hostFunction},
    {"injected runtime error", 1, {"MOCK_RUNTIME_FAIL_AT=2:719"}, injected},
    {"capture unjoined", 1, {}, unjoined},
    {"captured by hand", 1, {}, capturedByHand},
    {"object of a graph", 1, {}, objectOfAGraph},
    {"capture isolation", 1, {}, isolation},
    {"capture disturbed", 1, {}, disturbed},
    {"collective arguments", 1, {"MOCK_COMPUTE_CAPABILITY=80"}, collectiveArguments},
    {"configurations", 1, {}, configurations},
    {"late split", 2, {"MOCK_INIT_MS=20"}, lateSplit},
    {"two ask about a job", 1, {}, twoAsk, SIGABRT},
    {"revoked during a job", 1, {}, revokedDuringAJob, SIGABRT},
    {"used after abort", 1, {}, usedAfterAbort, SIGABRT},
    {"aborted under a thread", 2, {}, abortedUnderAThread, SIGABRT},
    {"aborted after a revoke", 2, {}, abortedAfterARevoke},
    {"aborted after a missed revoke", 2, {"MOCK_NCCL_REVOKE_MISSED=1"}, abortedAfterAMissedRevoke, SIGABRT},
    {"revoke hangs", 2, {"MOCK_NCCL_REVOKE_HANG=1", "MOCK_NCCL_CONNECT=0"}, revokeHangs, SIGABRT},
    {"finalize waits for graphs", 1, {}, finalizeWaitsForGraphs},
    {"abort waits for graphs", 1, {}, abortWaitsForGraphs},
    {"graph after a revoke", 1, {}, graphAfterARevoke, SIGABRT},
    {"collective overruns", 1, {}, overrun, SIGABRT},
    {"mismatch hangs", 2, {}, mismatchHangs},
    {"one collective at a time", 2, {"MOCK_ONE_COLLECTIVE=1", "MOCK_NCCL_CONNECT=0"}, oneCollectiveAtATime},
    {"first contact waits", 2, {}, firstContactWaits},
    {"first contact", 2, {"MOCK_NCCL_CONNECT=100"}, firstContact},
    {"failed for good", 1, {"MOCK_RUNTIME_TASK_FAIL_AT=1:700"}, failedForGood},
    {"duplicate device", 2, {"SAME_DEVICE=1"}, ranksThatDoNotFit},
    {"slices of one device", 2, {"MOCK_MIG=1", "MOCK_NCCL_VERSION=22907"}, slicesOfOneDevice},
    {"slices told apart", 2, {"MOCK_MIG=1"}, slicesOfOneDeviceTold},
    {"shared memory is full", 2, {"MOCK_NCCL_SHM_FULL=1"}, sharedMemoryFull},
    {"versions differ", 2, {}, ranksThatDoNotFit, 0, {"1 MOCK_NCCL_VERSION=22809"}},
    {"distinct host ids", 2, {}, sharedDevice, 0, {"0 NCCL_HOSTID=a", "1 NCCL_HOSTID=b"}},
    {"several ranks a device", 2, {"NCCL_MULTI_RANK_GPU_ENABLE=1"}, sharedDevice},
    {"no device", 1, {"MOCK_DEVICES=0"}, noDevice},
    {"older library", 1, {}, olderLibrary},
};

}  // namespace

int main(int count, char** arguments) {
    return Runner<ncclUniqueId>::main(count, arguments, cases,
                                      [](ncclUniqueId* id) { return ncclGetUniqueId(id) == ncclSuccess; });
}
