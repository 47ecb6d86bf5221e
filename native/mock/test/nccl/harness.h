// What the CUDA and NCCL cases share.
#pragma once
#include "../runner.h"

#include "../../front/cuda/types.h"
#include "../../front/nccl/types.h"

using Context = ContextOf<ncclUniqueId>;
using Case = CaseOf<ncclUniqueId>;

void addRuntimeCases(std::vector<Case>& cases);
void addCaptureCases(std::vector<Case>& cases);
void addCollectiveCases(std::vector<Case>& cases);
void addCommunicatorCases(std::vector<Case>& cases);

extern "C" {
cudaError_t cudaGetDeviceCount(int*);
cudaError_t cudaSetDevice(int);
cudaError_t cudaGetDevice(int*);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaGetLastError();
cudaError_t cudaGetDeviceProperties(cudaDeviceProp*, int);
cudaError_t cudaDeviceGetStreamPriorityRange(int*, int*);
cudaError_t cudaMalloc(void**, size_t);
cudaError_t cudaFree(void*);
cudaError_t cudaMallocAsync(void**, size_t, cudaStream_t);
cudaError_t cudaFreeAsync(void*, cudaStream_t);
cudaError_t cudaMallocHost(void**, size_t);
cudaError_t cudaFreeHost(void*);
cudaError_t cudaHostRegister(void*, size_t, unsigned);
cudaError_t cudaHostUnregister(void*);
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes*, const void*);
cudaError_t cudaMemcpy(void*, const void*, size_t, cudaMemcpyKind);
cudaError_t cudaMemcpyAsync(void*, const void*, size_t, cudaMemcpyKind, cudaStream_t);
cudaError_t cudaMemsetAsync(void*, int, size_t, cudaStream_t);
cudaError_t cudaStreamCreate(cudaStream_t*);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t*, unsigned);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t*, unsigned, int);
cudaError_t cudaStreamGetPriority(cudaStream_t, int*);
cudaError_t cudaStreamDestroy(cudaStream_t);
cudaError_t cudaStreamSynchronize(cudaStream_t);
cudaError_t cudaStreamQuery(cudaStream_t);
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned);
cudaError_t cudaLaunchHostFunc(cudaStream_t, cudaHostFn_t, void*);
cudaError_t cudaLaunchKernel(const void*, dim3, dim3, void**, size_t, cudaStream_t);
cudaError_t cudaEventCreate(cudaEvent_t*);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t*, unsigned);
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t);
cudaError_t cudaEventQuery(cudaEvent_t);
cudaError_t cudaEventSynchronize(cudaEvent_t);
cudaError_t cudaEventDestroy(cudaEvent_t);
cudaError_t cudaEventElapsedTime(float*, cudaEvent_t, cudaEvent_t);
cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode);
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t*);
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus*);
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode*);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t*, cudaGraph_t, unsigned long long);
cudaError_t cudaGraphLaunch(cudaGraphExec_t, cudaStream_t);
cudaError_t cudaGraphDestroy(cudaGraph_t);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t);
extern const char mockKernelFill[8];
extern const char mockKernelAxpy[8];
extern const char mockKernelBusy[8];

ncclResult_t ncclGetVersion(int*);
ncclResult_t ncclGetUniqueId(ncclUniqueId*);
ncclResult_t ncclCommInitRank(ncclComm_t*, int, ncclUniqueId, int);
ncclResult_t ncclCommInitRankConfig(ncclComm_t*, int, ncclUniqueId, int, ncclConfig_t*);
ncclResult_t ncclCommInitAll(ncclComm_t*, int, const int*);
ncclResult_t ncclCommSplit(ncclComm_t, int, int, ncclComm_t*, ncclConfig_t*);
ncclResult_t ncclCommShrink(ncclComm_t, int*, int, ncclComm_t*, ncclConfig_t*, int);
ncclResult_t ncclCommGetUniqueId(ncclComm_t, ncclUniqueId*);
ncclResult_t ncclCommGrow(ncclComm_t, int, const ncclUniqueId*, int, ncclComm_t*, ncclConfig_t*);
ncclResult_t ncclCommFinalize(ncclComm_t);
ncclResult_t ncclCommDestroy(ncclComm_t);
ncclResult_t ncclCommAbort(ncclComm_t);
ncclResult_t ncclCommRevoke(ncclComm_t, int);
ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t*);
ncclResult_t ncclCommCount(ncclComm_t, int*);
ncclResult_t ncclCommUserRank(ncclComm_t, int*);
ncclResult_t ncclCommCuDevice(ncclComm_t, int*);
ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t*, void*, ncclDataType_t, ncclScalarResidence_t, ncclComm_t);
ncclResult_t ncclRedOpDestroy(ncclRedOp_t, ncclComm_t);
ncclResult_t ncclAllReduce(const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t, cudaStream_t);
ncclResult_t ncclReduce(const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, int, ncclComm_t, cudaStream_t);
ncclResult_t ncclReduceScatter(const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t, cudaStream_t);
ncclResult_t ncclAllGather(const void*, void*, size_t, ncclDataType_t, ncclComm_t, cudaStream_t);
ncclResult_t ncclBroadcast(const void*, void*, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t);
ncclResult_t ncclAlltoAll(const void*, void*, size_t, ncclDataType_t, ncclComm_t, cudaStream_t);
ncclResult_t ncclGather(const void*, void*, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t);
ncclResult_t ncclScatter(const void*, void*, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t);
ncclResult_t ncclSend(const void*, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t);
ncclResult_t ncclRecv(void*, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t);
ncclResult_t ncclGroupStart();
ncclResult_t ncclGroupEnd();
ncclResult_t ncclMemAlloc(void**, size_t);
ncclResult_t ncclMemFree(void*);
ncclResult_t ncclCommRegister(ncclComm_t, void*, size_t, void**);
ncclResult_t ncclCommDeregister(ncclComm_t, void*);
}

inline cudaStream_t newStream() {
    cudaStream_t stream;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return stream;
}

inline cudaEvent_t newEvent() {
    cudaEvent_t event;
    OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    return event;
}

template <class T>
T* onDevice(size_t count) {
    void* memory;
    OK(cudaMalloc(&memory, count * sizeof(T)));
    return static_cast<T*>(memory);
}

template <class T>
T* onDevice(const std::vector<T>& values) {
    T* memory = onDevice<T>(values.size());
    OK(cudaMemcpy(memory, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
    return memory;
}

/** Waits for the stream, then reads. */
template <class T>
std::vector<T> fetch(const T* memory, size_t count, cudaStream_t stream) {
    std::vector<T> values(count);
    OK(cudaMemcpyAsync(values.data(), memory, count * sizeof(T), cudaMemcpyDeviceToHost, stream));
    OK(cudaStreamSynchronize(stream));
    return values;
}

inline void launchFill(float* data, float value, uint64_t count, cudaStream_t stream) {
    void* arguments[] = {&data, &value, &count};
    OK(cudaLaunchKernel(mockKernelFill, {1, 1, 1}, {1, 1, 1}, arguments, 0, stream));
}

inline void launchAxpy(float* y, const float* x, float a, uint64_t count, cudaStream_t stream) {
    void* arguments[] = {&y, &x, &a, &count};
    OK(cudaLaunchKernel(mockKernelAxpy, {1, 1, 1}, {1, 1, 1}, arguments, 0, stream));
}

inline void launchBusy(uint64_t microseconds, cudaStream_t stream) {
    void* arguments[] = {&microseconds};
    OK(cudaLaunchKernel(mockKernelBusy, {1, 1, 1}, {1, 1, 1}, arguments, 0, stream));
}
